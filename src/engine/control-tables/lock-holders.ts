/**
 * Holders of the locks of streams. Any login of the database may take an advisory lock, a reader too. If the role of a
 * session may not write runs, the session is not a run; messages name it, because it blocks runs.
 */
import { sql } from 'drizzle-orm';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import type { StreamKey } from './control-tables.ts';
import { readLastRuns } from './runs.ts';
import { streamLockKey } from './stream-session.ts';

interface Holder extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
  readonly is_loader: boolean;
}

/** The sessions that hold locks of these streams in this database. */
export async function readHolders(
  db: Queryable,
  accountIds: readonly string[],
  streams: readonly StreamName[] = STREAM_NAMES,
): Promise<readonly Holder[]> {
  return await db.execute<Holder>(sql`
    with held as materialized (
      select (l.classid::bigint << 32) | l.objid::bigint as key, l.pid, a.usename as role, a.application_name as application,
        coalesce(has_table_privilege(a.usesysid, 'safety_sync.runs', 'insert'), true) as is_loader
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
        and l.database = (select oid from pg_database where datname = current_database()))
    select a.account_id, s.stream, h.pid, h.role, h.application, h.is_loader
    from unnest(${toArrayLiteral(accountIds)}::text[]) as a (account_id)
      cross join unnest(${toArrayLiteral(streams)}::text[]) as s (stream)
      join held h on h.key = ${sql.raw(streamLockKey('a.account_id', 's.stream'))}`);
}

export const holderName = ({
  role,
  application,
  pid,
}: Pick<Holder, 'role' | 'application' | 'pid'>): string =>
  `role ${role ?? 'unknown'} (${application === null || application === '' ? '' : `${application}, `}pid ${pid})`;

const describeForeign = (holder: Parameters<typeof holderName>[0], why = 'is no loader'): string =>
  `${holderName(holder)}, which ${why} (to end that session: select pg_terminate_backend(${holder.pid}))`;

interface NamedHolder {
  readonly name: string;
  readonly isForeign: boolean;
}

/** The holder of a lock that is taken. */
export async function describeHolder(db: Queryable, { accountId, stream }: StreamKey): Promise<NamedHolder> {
  const holders = await readHolders(db, [accountId], [stream]);
  const holder = holders.find((one) => !one.is_loader) ?? holders[0];
  // The lock is free again meanwhile.
  if (holder === undefined) return { name: 'another run', isForeign: false };
  if (!holder.is_loader) return { name: describeForeign(holder), isForeign: true };
  const running = await readLastRuns(db, [accountId], sql`r.status = 'running'`);
  const run = running.find((one) => one.stream === stream && one.backend_pid === holder.pid);
  const name =
    run === undefined
      ? `another run, ${holderName(holder)},`
      : `run ${run.run_id} (${run.kind}, ${run.owner})`;
  return { name, isForeign: false };
}

interface Blocker extends Pick<Holder, 'account_id' | 'stream' | 'pid' | 'role' | 'application'> {
  readonly [column: string]: unknown;
}

/** Sessions that are no runs and hold a lock that a run waits for, for example an index build or a forgotten transaction. */
const readBlockers = async (db: Queryable, accountIds: readonly string[]): Promise<readonly Blocker[]> =>
  await db.execute<Blocker>(sql`
    select r.account_id, r.stream, a.pid, a.usename as role, a.application_name as application
    from safety_sync.runs r cross join unnest(pg_blocking_pids(r.backend_pid)) as b (pid) join pg_stat_activity a on a.pid = b.pid
      join pg_stat_activity w on w.pid = r.backend_pid and w.query_start < statement_timestamp() - interval '10 seconds'
    where r.status = 'running' and r.account_id = any (${toArrayLiteral(accountIds)}::text[])
      and not exists (select from safety_sync.runs o where o.status = 'running' and o.backend_pid = a.pid)`);

/** Sessions that are no runs and that runs wait for, as text, by `stream account`. */
export async function readHeldUp(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const holders = (await readHolders(db, accountIds)).filter((one) => !one.is_loader);
  const blockers = await readBlockers(db, accountIds);
  return new Map(
    [
      ...blockers.map((one) => [one, 'locks a table'] as const),
      ...holders.map((one) => [one, undefined] as const),
    ].map(([one, why]) => [`${one.stream} ${one.account_id}`, describeForeign(one, why)]),
  );
}
