/**
 * The past of the demo: the sandbox begins some weeks ago, and each day until now is simulated and synced. PostgreSQL's
 * clock cannot be set back, so the times in the rows of each sync are set back to the simulated day.
 */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { name } from '../../engine/database/sql-names.ts';
import { streamNamed } from '../../engine/streams/index.ts';

/** Streams with the present state only: their past is that of the syncs. */
export const FORGETFUL_STREAMS = ['training-employee-status', 'equipments'];

/** Columns with the time at which a state of these streams began or ended here, because the source sends none. */
const TIMES = FORGETFUL_STREAMS.flatMap((stream) => streamNamed(stream).histories).flatMap(
  ({ of, states }) => [
    { table: of, column: '_valid_from' },
    { table: states, column: 'valid_from' },
    { table: states, column: 'valid_to' },
  ],
);

/** Runs a sync that is `agoMs` in the past. */
export async function syncInThePast<T>(db: Queryable, agoMs: number, sync: () => Promise<T>): Promise<T> {
  const [clock] = await db.execute<{ now: string }>(sql`select clock_timestamp()::text as now`);
  const synced = await sync();
  for (const { table, column } of TIMES) {
    const at = name(column);
    await db.execute(sql`update ${table} set ${at} = ${at} - make_interval(secs => ${agoMs / 1000})
      where ${at} >= ${clock?.now ?? ''}::timestamptz`);
  }
  return synced;
}
