/**
 * Finds problems from the warehouse alone, with or without a running worker. The exit codes of `status` and `alerts` use it.
 */
import { type SQL, sql } from 'drizzle-orm';
import cron from 'node-cron';
import { failureConditions } from '../alerts/conditions.ts';
import { offReasonOf } from '../../config/account-config.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';
import { formatAge, roughly } from '../../shared/format.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import { freshnessOf } from '../status/build-status.ts';
import { type AccountsRead, epochMs, numberOf } from '../status/read-accounts.ts';
import { cronEntriesOf, type CronEntry, type ScheduledAccount } from './scheduler.ts';

interface Judging {
  readonly accounts: readonly ScheduledAccount[];
  readonly accountsRead: AccountsRead;
  readonly config: { readonly freshnessBudgetMinutes: number };
}

/** A run may begin this long after its tick. */
const LATE_MS = 5 * MINUTE_MS;
/** Ticks are searched this far back. A schedule with rarer ticks is judged by the age of its data. */
const LOOKED_BACK_MS = 2 * DAY_MS;

/** When runs of these accounts (an array literal) that meet the condition were last active; null: never. */
async function readNewestRun(db: Queryable, accounts: string, condition: SQL): Promise<number | null> {
  const newest = newestRuns(sql`coalesce(r.finished_at, r.started_at) as at`, condition, accounts);
  const [row] = await db.execute<{ ms: string | null }>(
    sql`select ${epochMs('max(n.at)')} as ms from (${newest}) n`,
  );
  return numberOf(row?.ms);
}

/** By which clocks are put back when summer time ends. */
const PUT_BACK_MS = [30 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS];

/** Whether a local time comes again because clocks are put back. */
const comesAgain = (ms: number, clock: Intl.DateTimeFormat): boolean =>
  PUT_BACK_MS.some((laterMs) => clock.format(ms + laterMs) === clock.format(ms));

/**
 * Whether a schedule has a tick between two times, to the minute. If a local time comes twice, most ticks take place at the
 * second one, so the first one does not count.
 */
export function hasTick(
  { expression, timezone }: Omit<CronEntry, 'target'>,
  afterMs: number,
  upToMs: number,
): boolean {
  const minutes = expression.trim().split(/\s+/).slice(-5).join(' ');
  const task = cron.createTask(minutes, () => undefined, { timezone });
  const clock = new Intl.DateTimeFormat('en', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' });
  try {
    const firstMs = Math.max(afterMs, upToMs - LOOKED_BACK_MS);
    for (let ms = upToMs - (upToMs % MINUTE_MS); ms > firstMs; ms -= MINUTE_MS) {
      if (task.match(new Date(ms)) && !comesAgain(ms, clock)) return true;
    }
    return false;
  } finally {
    void task.destroy();
  }
}

export async function findWhatIsWrong(db: Queryable, judging: Judging) {
  const { accounts, accountsRead, config } = judging;
  const { databaseNowMs: nowMs } = accountsRead;
  const ids = toArrayLiteral(accounts.map(({ id }) => id));
  const workerSeenMs = await readNewestRun(db, ids, sql`r.trigger = 'schedule'`);
  const newestMs = await readNewestRun(db, ids, sql`true`);
  const streams = accounts.flatMap(({ id, offReasons }) =>
    (accountsRead.accounts.get(id) ?? []).map((one) => ({
      id,
      one,
      offReason: offReasonOf(offReasons, one),
    })),
  );
  // A stream without a schedule is never late, but its last manual run may have failed.
  const isLate = streams.some(
    ({ one, offReason }) =>
      offReason === null && freshnessOf(one, nowMs, config.freshnessBudgetMinutes) !== 'fresh',
  );
  const failed = streams.flatMap(({ id, one, offReason }) =>
    offReason === 'no equipment types' || offReason === 'not offered' ? [] : failureConditions(id, one),
  );
  const facts = streams.map(({ one }) => one);
  // No run is recorded while the service's cache is still valid, and few are while the credentials are refused.
  const coveredMs = Math.max(newestMs ?? 0, ...facts.map(({ currentUntilMs }) => currentUntilMs ?? 0));
  const isAtWork =
    facts.some(({ running }) => running !== null) ||
    failed.some(({ event }) => event === 'credentials_refused');
  const isHeldUp = facts.some(({ heldUpBy }) => heldUpBy !== undefined);
  const dueMs = nowMs - LATE_MS;
  const syncs = cronEntriesOf(accounts).filter(({ target }) => target.kind === 'sync');
  const schedules = new Map(syncs.map((one) => [`${one.expression}\n${one.timezone}`, one]));
  const isMissing =
    workerSeenMs !== null &&
    !isAtWork &&
    [...schedules.values()].some((one) => hasTick(one, coveredMs, dueMs));
  const age = roughly(formatAge(workerSeenMs, nowMs)).replace(/ ago$/, '');
  return {
    /** False when a stream is stale, never synced, failing, refused or held up, or when a scheduled run has no worker. */
    isWell: !isLate && failed.length === 0 && !isMissing && !isHeldUp,
    /** When a scheduled run was last active, by the database's clock; null: never, so no worker is expected. */
    workerSeenMs,
    /** A sentence about a missing worker; null: none is missing. */
    workerMissing: isMissing
      ? `No worker has been seen for ${age}: none runs with this schedule, or none can connect to the database.`
      : null,
  };
}
