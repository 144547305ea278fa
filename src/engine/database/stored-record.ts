/** Reads the stored row of one record. */
import { sql } from 'drizzle-orm';
import type { StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { keyColumn, partitionOf, target } from './sql-names.ts';
import { tableShape } from './table-shape.ts';

/** undefined: there is no row. `requestedType`: for equipments the type of the last response that contained it. */
export async function readStoredRecord(
  db: Queryable,
  stream: StreamDefinition,
  { accountId, key }: { readonly accountId: string; readonly key: string },
) {
  const parent = tableShape(stream.parent);
  const { partition, join } = partitionOf(stream);
  const [row] = await db.execute<{
    raw: WireRecord | null;
    requestedType: string | null;
    syncedAt: string;
    deletedAt: string | null;
  }>(sql`
    select t._raw as raw, ${partition} as "requestedType", t._synced_at as "syncedAt", t._deleted_at as "deletedAt"
    from ${target(parent)} t ${join}
    where t.account_id = ${accountId} and t.${keyColumn(parent)} = ${key}`);
  return row;
}
