/**
 * Runs without a database session, usually because their worker ended: their record has the status `running`, and the lock
 * of their stream is free.
 */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Database, Queryable } from '../database/connection.ts';
import type { StreamKey } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { readHeldKeys } from './lock-holders.ts';
import { closeDeadRuns, type RunRow } from './runs.ts';
import { streamLockKey } from './stream-session.ts';

/**
 * Of the accounts of these open runs, those whose worker died. A run takes its lock before it has a record and closes the record
 * before it releases the lock: a record that still says `running` after its lock was seen free belongs to a worker that died. A
 * standby cannot see the locks of its primary, so it shows none.
 */
export async function findDeadRuns(
  db: Queryable,
  open: readonly Pick<RunRow, 'account_id'>[],
): Promise<ReadonlySet<number>> {
  if (open.length === 0) return new Set();
  const accountIds = toArrayLiteral([...new Set(open.map((run) => run.account_id))]);
  const held = await readHeldKeys(db);
  const dead = await db.execute<{ run_id: string }>(sql`
    select run_id from safety_sync.runs r where account_id = any (${accountIds}::text[]) and status = 'running'
      and ${sql.raw(streamLockKey('r.account_id', 'r.stream'))} <> all (${held}::bigint[]) and not pg_is_in_recovery()`);
  return new Set([...dead].map((row) => Number(row.run_id)));
}

/** The rows; dead runs with the status that they will be closed with. */
export async function markDeadRuns(db: Queryable, rows: readonly RunRow[]): Promise<RunRow[]> {
  const dead = await findDeadRuns(
    db,
    rows.filter(({ status }) => status === 'running'),
  );
  return rows.map((row) =>
    dead.has(row.run_id)
      ? {
          ...row,
          status: 'failed',
          error_code: 'worker_died',
          error_message: `the worker ${row.owner}, or its database session, ended without closing this run`,
        }
      : row,
  );
}

interface ClosedRuns extends StreamKey {
  readonly closed: number;
}

/** Closes the runs of workers that died; streams that a session has locked are skipped. */
export async function closeAllDeadRuns(db: Database, accountIds: readonly string[]): Promise<ClosedRuns[]> {
  const open = await db.execute<{ account_id: string; stream: StreamName }>(sql`
    select distinct account_id, stream from safety_sync.runs
    where status = 'running' and account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  const all: ClosedRuns[] = [];
  for (const { account_id: accountId, stream } of [...open]) {
    const closed = await db.transaction(async (tx) => {
      const [lock] = await tx.execute<{ locked: boolean }>(sql`
        select pg_try_advisory_xact_lock(${sql.raw(streamLockKey('o.account_id', 'o.stream'))}) as locked
        from (values (${accountId}::text, ${stream}::text)) as o (account_id, stream)`);
      return lock?.locked === true ? await closeDeadRuns(tx, { accountId, stream }) : 0;
    });
    if (closed > 0) all.push({ accountId, stream, closed });
  }
  return all;
}
