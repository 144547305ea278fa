/** Reads and writes `safety_sync.request_budget`, each time in a transaction of its own and by the database's clock. */
import { and, eq, getTableColumns, isNotNull, inArray, sql } from 'drizzle-orm';
import { toIso, toMs } from '../../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { toDatabaseError } from '../database/database-error.ts';
import { requestBudget } from './control-tables.ts';

/** Times in ms since 1970; whole ones, so that they are found again as they were written. */
interface Budget {
  readonly savedSinceMs: number;
  readonly blockedAtMs: number | null;
  readonly blockedUntilMs: number | null;
  readonly probeUntilMs: number | null;
}

const NOW_MS = sql<string>`floor(extract(epoch from clock_timestamp()) * 1000)`;

const toRow = (budget: Budget) => ({
  saved_since: toIso(budget.savedSinceMs),
  blocked_at: toIso(budget.blockedAtMs),
  blocked_until: toIso(budget.blockedUntilMs),
  probe_until: toIso(budget.probeUntilMs),
});

export function createBudgetStore(db: Queryable, accountId: string) {
  const isOurs = eq(requestBudget.account_id, accountId);

  async function read() {
    const [row] = await db
      .select({ ...getTableColumns(requestBudget), now: NOW_MS })
      .from(requestBudget)
      .where(isOurs);
    if (row === undefined) {
      const [time] = await db.execute<{ now: string }>(sql`select ${NOW_MS} as now`);
      return { nowMs: Number(time?.now), state: null };
    }
    const state: Budget = {
      savedSinceMs: toMs(row.saved_since),
      blockedAtMs: toMs(row.blocked_at),
      blockedUntilMs: toMs(row.blocked_until),
      probeUntilMs: toMs(row.probe_until),
    };
    return { nowMs: Number(row.now), state };
  }

  async function replace(before: Budget | null, after: Budget): Promise<boolean> {
    const row = toRow(after);
    if (before === null) {
      const added = db.insert(requestBudget).values({ account_id: accountId, ...row });
      return (await added.onConflictDoNothing().returning({ id: requestBudget.account_id })).length > 0;
    }
    const isUnchanged = Object.entries(toRow(before)).map(
      ([column, value]) =>
        sql`${requestBudget[column as keyof typeof row]} is not distinct from ${value}::timestamptz`,
    );
    const changed = db
      .update(requestBudget)
      .set(row)
      .where(and(isOurs, ...isUnchanged));
    return (await changed.returning({ id: requestBudget.account_id })).length > 0;
  }

  return {
    read: () => read().catch((error: unknown) => Promise.reject(toDatabaseError(error))),
    /** False when another process has changed it meanwhile. */
    replace: (before: Budget | null, after: Budget) =>
      replace(before, after).catch((error: unknown) => Promise.reject(toDatabaseError(error))),
  };
}

/** The accounts among these whose requests wait for the service's limit, and until when, in ms by the database's clock. */
export async function readBlocked(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .select({ id: requestBudget.account_id, until: requestBudget.blocked_until })
    .from(requestBudget)
    .where(
      and(
        inArray(requestBudget.account_id, [...accountIds]),
        isNotNull(requestBudget.blocked_until),
        sql`${requestBudget.blocked_until} > statement_timestamp()`,
      ),
    );
  return new Map(rows.map(({ id, until }) => [id, toMs(until) ?? 0]));
}
