/** Reads and writes `safety_sync.request_budget`, each time in a transaction of its own and by the database's clock. */
import { sql } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { asInserted, joinColumns, msOf, of } from '../database/sql-names.ts';
import { requestBudget } from './control-tables.ts';

/** Times in ms since 1970; whole ones, so that they are found again as they were written. */
type Budget = Readonly<
  Record<'savedSinceMs', number> & Record<'blockedAtMs' | 'blockedUntilMs' | 'probeUntilMs', number | null>
>;

const COLUMNS = ['saved_since', 'blocked_at', 'blocked_until', 'probe_until'];

const timesOf = (budget: Budget | null) =>
  sql.join(
    [budget?.savedSinceMs, budget?.blockedAtMs, budget?.blockedUntilMs, budget?.probeUntilMs].map(
      (ms) => sql`${toIso(ms ?? null)}::timestamptz`,
    ),
    sql`, `,
  );

export function createBudgetStore(db: Queryable, accountId: string) {
  return {
    async read(): Promise<{ nowMs: number; state: Budget | null }> {
      const [row] = await db.execute<{ nowMs: number; state: Budget | null }>(sql`
        select ${msOf('clock_timestamp()')} as "nowMs", case when saved_since is not null then
          jsonb_build_object('savedSinceMs', ${msOf('saved_since')}, 'blockedAtMs', ${msOf('blocked_at')},
            'blockedUntilMs', ${msOf('blocked_until')}, 'probeUntilMs', ${msOf('probe_until')}) end as state
        from (select ${accountId}::text as account_id) a left join ${requestBudget} using (account_id)`);
      return row ?? { nowMs: 0, state: null };
    },
    /** False when another process has changed it meanwhile. */
    async replace(before: Budget | null, after: Budget): Promise<boolean> {
      const changed = await db.execute(sql`
        insert into ${requestBudget} as b (account_id, ${joinColumns(COLUMNS)}) values (${accountId}, ${timesOf(after)})
        on conflict (account_id) do update set ${asInserted(COLUMNS)}
        where (${of('b', COLUMNS)}) is not distinct from (${timesOf(before)}) returning account_id`);
      return changed.length > 0;
    },
  };
}
