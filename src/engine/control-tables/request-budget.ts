/** Reads and writes `safety_sync.request_budget`, each time in a transaction of its own and by the database's clock. */
import { sql } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
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

const COLUMNS = sql.raw('saved_since, blocked_at, blocked_until, probe_until');

const timesOf = ({ savedSinceMs, blockedAtMs, blockedUntilMs, probeUntilMs }: Budget) =>
  sql.join(
    [savedSinceMs, blockedAtMs, blockedUntilMs, probeUntilMs].map((ms) => sql`${toIso(ms)}::timestamptz`),
    sql`, `,
  );

const msOf = (time: string) => sql.raw(`floor(extract(epoch from ${time}) * 1000)::float8`);

export function createBudgetStore(db: Queryable, accountId: string) {
  const execute = async (statement: ReturnType<typeof sql>) => [
    ...(await db.execute(statement).catch((error: unknown) => Promise.reject(toDatabaseError(error)))),
  ];

  return {
    async read(): Promise<{ nowMs: number; state: Budget | null }> {
      const [row] = await execute(sql`
        select ${msOf('clock_timestamp()')} as now, ${msOf('saved_since')} as "savedSinceMs", ${msOf('blocked_at')} as "blockedAtMs",
          ${msOf('blocked_until')} as "blockedUntilMs", ${msOf('probe_until')} as "probeUntilMs"
        from (select ${accountId}::text as account_id) a left join ${requestBudget} using (account_id)`);
      const { now, ...state } = row as unknown as Budget & { readonly now: number };
      return { nowMs: now, state: (state.savedSinceMs as number | null) === null ? null : state };
    },
    /** False when another process has changed it meanwhile. */
    async replace(before: Budget | null, after: Budget): Promise<boolean> {
      const changed = await execute(
        before === null
          ? sql`insert into ${requestBudget} (account_id, ${COLUMNS}) values (${accountId}, ${timesOf(after)})
              on conflict do nothing returning account_id`
          : sql`update ${requestBudget} set (${COLUMNS}) = (${timesOf(after)})
              where account_id = ${accountId} and (${COLUMNS}) is not distinct from (${timesOf(before)}) returning account_id`,
      );
      return changed.length > 0;
    },
  };
}
