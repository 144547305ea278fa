/** Sessions that hold what runs need: the locks of streams, and locks of tables. */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { StreamKey } from './control-tables.ts';
import { readLastRuns } from './runs.ts';
import { streamLockKey } from './stream-session.ts';

interface Holder extends Record<string, unknown> {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
}

interface StreamRow {
  readonly account_id: string;
  readonly stream: StreamName;
}

/** The advisory locks of this database, by `key` and `pid`. */
const HELD = `(select (classid::bigint << 32) | objid::bigint as key, pid from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database()))`;

/** The keys of the locks that are taken, as an array literal. */
export async function readHeldKeys(db: Queryable): Promise<string> {
  const [held] = await db.execute<{ keys: string }>(
    sql`select coalesce(array_agg(key), '{}')::text as keys from ${sql.raw(HELD)} held`,
  );
  return held?.keys ?? '{}';
}

export const holderName = ({ role, application, pid }: Holder): string =>
  `role ${role ?? 'unknown'} (${application === null || application === '' ? '' : `${application}, `}pid ${pid})`;

/** The holder of a lock that is taken. */
export async function describeHolder(
  db: Queryable,
  { accountId, stream }: StreamKey,
): Promise<{ readonly name: string }> {
  const [holder] = await db.execute<Holder>(sql`
    select h.pid, a.usename as role, a.application_name as application
    from (values (${accountId}::text, ${stream}::text)) as o (account_id, stream)
      join ${sql.raw(HELD)} h on h.key = ${sql.raw(streamLockKey('o.account_id', 'o.stream'))}
      left join pg_stat_activity a on a.pid = h.pid`);
  // The lock is free again meanwhile.
  if (holder === undefined) return { name: 'another run' };
  const running = await readLastRuns(db, [accountId], sql`r.status = 'running'`);
  const run = running.find((one) => one.stream === stream && one.backend_pid === holder.pid);
  if (run === undefined) return { name: `another run, ${holderName(holder)},` };
  return { name: `run ${run.run_id} (${run.kind}, ${run.owner})` };
}

/**
 * Sessions that are no runs and hold a lock that a run waits for, for example an index build or a forgotten transaction, as text,
 * by `stream account`.
 */
export async function readHeldUp(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const blockers = await db.execute<Holder & StreamRow>(sql`
    select r.account_id, r.stream, a.pid, a.usename as role, a.application_name as application
    from safety_sync.runs r cross join unnest(pg_blocking_pids(r.backend_pid)) as b (pid) join pg_stat_activity a on a.pid = b.pid
      join pg_stat_activity w on w.pid = r.backend_pid and w.query_start < statement_timestamp() - interval '10 seconds'
    where r.status = 'running' and r.account_id = any (${toArrayLiteral(accountIds)}::text[])
      and not exists (select from safety_sync.runs o where o.status = 'running' and o.backend_pid = a.pid)`);
  return new Map(
    blockers.map((one) => [
      `${one.stream} ${one.account_id}`,
      `${holderName(one)}, which locks a table (to end that session: select pg_terminate_backend(${one.pid}))`,
    ]),
  );
}
