/** The list of problems from the warehouse alone, with or without a running worker: for `status`, `alerts` and `check`. */
import { type SQL, sql } from 'drizzle-orm';
import cron from 'node-cron';
import type { App } from '../../app.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { assertNothingPending } from '../../engine/database/migration-status.ts';
import { msOf } from '../../engine/database/sql-names.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';
import { formatAge, roughly } from '../../shared/format.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import { failedReportsOf, readOutbox } from '../alerts/outbox.ts';
import { problem } from '../status/problem-words.ts';
import { readDifferences } from '../status/differences.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { judgeAccount } from '../status/status.ts';

/** A run may begin this long after its tick. */
const LATE_MS = 5 * MINUTE_MS;
/** Enough ticks to meet the longest pause of most schedules, for example a weekend. */
const TICKS = 200;

/** The longest time between two ticks of a schedule: in it a worker would have begun a run. */
export function longestPauseMs(expression: string, timezone: string): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ticks = task.getNextRuns(TICKS).map((date) => date.getTime());
  void task.destroy();
  return Math.max(0, ...ticks.slice(1).map((ms, at) => ms - (ticks[at] ?? ms)));
}

/** When one of these runs was last active; null: never. */
async function readLastSeenMs({ db, accountIds }: App, condition: SQL): Promise<number | null> {
  const at = sql`coalesce(r.finished_at, r.started_at) as at`;
  const newest = newestRuns(at, condition, toArrayLiteral(accountIds));
  const [row] = await db.execute<{ at: number | null }>(
    sql`select ${msOf('max(n.at)')} as at from (${newest}) n`,
  );
  return row?.at ?? null;
}

/** The shortest of the longest pauses of all schedules; Infinity: none is scheduled. */
function allowedPauseMs({ accounts }: App): number {
  // Most accounts have the same schedules.
  const schedules = new Map<string, readonly [cron: string, timezone: string]>();
  for (const { streams, timezone } of accounts.map(({ config }) => config.schedule))
    for (const one of Object.values(streams))
      if (one !== null) schedules.set(`${timezone} ${one}`, [one, timezone]);
  return Math.min(Infinity, ...[...schedules.values()].map((one) => longestPauseMs(...one)));
}

export async function readProblems(app: App) {
  const { accounts, accountIds, connection, db, clock, config } = app;
  const read = await readAccounts(connection, accountIds, { clock });
  const { databaseNowMs: nowMs } = read;
  assertNothingPending(read.pendingMigrations);
  const { freshnessBudgetMinutes } = config;
  const differences = await readDifferences(db, accounts, config.privacy);
  const hasReports = config.notifications.report !== undefined;
  const failedReports = failedReportsOf(hasReports ? await readOutbox(db, accountIds) : []);
  const all = accounts.map(({ id, config: own }) => {
    const { texts = [], unread = [] } = differences.get(id) ?? {};
    const account = { id, config: own, differences: texts };
    const judged = judgeAccount(account, read, { nowMs, freshnessBudgetMinutes, failedReports });
    return { ...judged, ...{ id, unread, notOffered: read.accounts.get(id)?.notOffered ?? [] } };
  });
  const problems = all.flatMap((account) => account.problems);
  const streams = all.flatMap((account) => account.streams);
  const workerSeenMs = await readLastSeenMs(app, sql`r.trigger = 'schedule'`);
  const anyMs = await readLastSeenMs(app, sql`true`);
  // No run is recorded while the service's cache is valid, and few are while the credentials are refused.
  const coveredMs = Math.max(anyMs ?? 0, ...streams.map(({ currentUntilMs }) => currentUntilMs ?? 0));
  const isAtWork =
    streams.some(({ isRunning }) => isRunning) || problems.some(({ kind }) => kind === 'credentials_refused');
  if (workerSeenMs !== null && !isAtWork && nowMs - coveredMs > allowedPauseMs(app) + LATE_MS) {
    const detail = `for ${roughly(formatAge(workerSeenMs, nowMs)).replace(/ ago$/, '')}`;
    problems.unshift(problem({ kind: 'no_worker', level: 'bad', isFailure: true, detail }));
  }
  return {
    accounts: all,
    problems,
    nowMs,
    /** False when a stream is stale, never synced, failing or refused, or when a scheduled run has no worker. */
    isWell: !problems.some(({ isFailure }) => isFailure),
    /** When a scheduled run was last active, by the database's clock; null: never, so no worker is expected. */
    workerSeenMs,
  };
}
