/** Sessions that hold locks of tables which runs need. */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';

interface Holder extends Record<string, unknown> {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
}

interface StreamRow {
  readonly account_id: string;
  readonly stream: StreamName;
}

export const holderName = ({ role, application, pid }: Holder): string =>
  `role ${role ?? 'unknown'} (${application === null || application === '' ? '' : `${application}, `}pid ${pid})`;

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
