/** Runs without a database session, usually because their worker ended: their record still has the status `running`. */
import { sql } from 'drizzle-orm';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Database, Queryable } from '../database/connection.ts';
import type { StreamName } from '../streams/stream.ts';
import type { StreamKey } from './control-tables.ts';
import { AS_DIED, readLastRuns, type RunRow } from './runs.ts';

/**
 * Of the accounts of these open runs, those whose session ended. A run closes its record before its session, so a record that
 * says `running` after its backend was seen gone is of a dead run. A standby cannot see the backends of its primary, so it
 * shows none; the nodes of a cluster cannot either, so the backends are read by a statement of their own.
 */
export async function findDeadRuns(
  db: Queryable,
  open: readonly Pick<RunRow, 'account_id'>[],
): Promise<ReadonlySet<number>> {
  if (open.length === 0) return new Set();
  const accountIds = toArrayLiteral([...new Set(open.map((run) => run.account_id))]);
  const [seen] = await db.execute<{ pids: string | null }>(sql`
    select array_agg(pid)::text as pids from pg_stat_activity where not pg_is_in_recovery()`);
  const dead = await db.execute<{ run_id: string }>(sql`
    select run_id from safety_sync.runs where account_id = any (${accountIds}::text[]) and status = 'running'
      and backend_pid <> all (${seen?.pids ?? null}::int[])`);
  return new Set(dead.map((row) => Number(row.run_id)));
}

/** The rows; dead runs with the status that they will be closed with. */
export async function markDeadRuns(db: Queryable, rows: readonly RunRow[]): Promise<RunRow[]> {
  const dead = await findDeadRuns(
    db,
    rows.filter(({ status }) => status === 'running'),
  );
  const error_message = 'its worker, or its database session, ended without closing this run';
  return rows.map((row) =>
    dead.has(row.run_id) ? { ...row, status: 'failed', error_code: 'worker_died', error_message } : row,
  );
}

/** Closes the runs of workers that died. */
export async function closeAllDeadRuns(
  db: Database,
  accountIds: readonly string[],
): Promise<(StreamKey & { readonly closed: number })[]> {
  const dead = await findDeadRuns(db, await readLastRuns(db, accountIds, sql`r.status = 'running'`));
  const closed = await db.execute<{ account_id: string; stream: StreamName }>(sql`
    update safety_sync.runs set ${AS_DIED} where account_id = any (${toArrayLiteral(accountIds)}::text[])
      and run_id = any (${toArrayLiteral([...dead])}::bigint[]) and status = 'running' returning account_id, stream`);
  return closed.map(({ account_id: accountId, stream }) => ({ accountId, stream, closed: 1 }));
}
