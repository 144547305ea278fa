/** The list of problems from the warehouse alone, with or without a running worker: for `status`, `alerts` and `check`. */
import { sql } from 'drizzle-orm';
import cron from 'node-cron';
import type { App } from '../../app.ts';
import { tokenSourceOf } from '../../config/account-config.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import { describeUnread, unreadOf } from '../../engine/streams/unread-partitions.ts';
import { readCleaningProgress } from '../../engine/privacy/settings.ts';
import { formatAge, roughly } from '../../shared/format.ts';
import { MINUTE_MS, toMs } from '../../shared/time.ts';
import { failedReportsOf, readOutbox } from '../alerts/outbox.ts';
import { type Problem, problem } from '../status/problem.ts';
import { accountProblems } from '../status/problems.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { toStreamStatus } from '../status/facts.ts';
import { differencesOf, uncleanedOf } from '../status/storage-rules.ts';

/** A run may begin this long after its tick. */
const LATE_MS = 5 * MINUTE_MS;
/** Enough ticks to meet the longest pause of most schedules, for example a weekend. */
const TICKS = 200;

/** The longest time between two ticks of a schedule. */
export function longestPauseMs(expression: string, timezone: string): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ticks = task.getNextRuns(TICKS).map((date) => date.getTime());
  void task.destroy();
  return Math.max(0, ...ticks.slice(1).map((ms, at) => ms - (ticks[at] ?? ms)));
}

/** When a scheduled run, or any, was last active; null: never. */
async function readLastSeen({ db, accountIds }: App, isScheduled: boolean): Promise<number | null> {
  const condition = isScheduled ? sql`r.trigger = 'schedule'` : sql`true`;
  const newest = newestRuns(
    sql`coalesce(r.finished_at, r.started_at) as at`,
    condition,
    toArrayLiteral(accountIds),
  );
  const [row] = await db.execute<{ at: string | null }>(sql`select max(n.at) as at from (${newest}) n`);
  return toMs(row?.at ?? null);
}

/** Every schedule has had a tick in its longest pause; a worker would have begun a run. */
function isMissing({ accounts }: App, idleMs: number): boolean {
  const schedules = accounts.flatMap(({ config: { schedule } }) =>
    STREAM_NAMES.flatMap((stream) => {
      const expression = schedule.streams[stream] ?? null;
      return expression === null ? [] : [[expression, schedule.timezone] as const];
    }),
  );
  const distinct = [...new Map(schedules.map((one) => [one.join('\n'), one])).values()];
  const pauses = distinct.map(([expression, timezone]) => longestPauseMs(expression, timezone));
  return pauses.length > 0 && idleMs > Math.min(...pauses) + LATE_MS;
}

export async function readProblems(app: App) {
  const { accounts, accountIds, connection, db, clock, config } = app;
  const read = await readAccounts(connection, accountIds, { clock });
  const { databaseNowMs: nowMs } = read;
  const { freshnessBudgetMinutes } = config;
  const cleanings = await readCleaningProgress(db, accountIds, config.privacy);
  const partitions = await readStoredPartitions(db, accountIds);
  const reports = config.notifications.report === undefined ? [] : await readOutbox(db, accountIds);
  const failedReports = failedReportsOf(reports);
  const all = accounts.map(({ id, config: own, offReasons }) => {
    const streams = (read.accounts.get(id) ?? []).map((one) =>
      toStreamStatus(one, { offReasons, nowMs, freshnessBudgetMinutes }),
    );
    const unread = unreadOf(partitions.get(id) ?? [], own.equipmentTypes);
    const problems = accountProblems({
      accountId: id,
      streams,
      refusals: [],
      tokenSource: tokenSourceOf(own),
      blockedUntilMs: read.blocked.get(id) ?? null,
      failedReport: failedReports.find(({ accountId }) => accountId === id)?.code ?? null,
      differences: differencesOf({
        uncleaned: uncleanedOf(cleanings.get(id) ?? [], offReasons),
        unread: describeUnread(unread),
        otherTimezone: null,
        expired: [],
      }),
      isDatabaseAway: false,
      freshnessBudgetMinutes,
      nowMs,
    });
    return { id, streams, problems, unread };
  });
  const workerSeenMs = await readLastSeen(app, true);
  const streams = all.flatMap((account) => account.streams);
  const problems: Problem[] = all.flatMap((account) => account.problems);
  // No run is recorded while the service's cache is valid, and few are while the credentials are refused.
  const coveredMs = Math.max(
    (await readLastSeen(app, false)) ?? 0,
    ...streams.map(({ currentUntilMs }) => currentUntilMs ?? 0),
  );
  const isAtWork =
    streams.some(({ isRunning }) => isRunning) || problems.some(({ kind }) => kind === 'credentials_refused');
  if (workerSeenMs !== null && !isAtWork && isMissing(app, nowMs - coveredMs)) {
    const detail = `for ${roughly(formatAge(workerSeenMs, nowMs)).replace(/ ago$/, '')}`;
    problems.unshift(problem({ kind: 'no_worker', level: 'bad', isFailure: true, detail }));
  }
  return {
    accounts: all,
    problems,
    read,
    nowMs,
    /** False when a stream is stale, never synced, failing, refused or held up, or when a scheduled run has no worker. */
    isWell: !problems.some(({ isFailure }) => isFailure),
    /** When a scheduled run was last active, by the database's clock; null: never, so no worker is expected. */
    workerSeenMs,
  };
}
