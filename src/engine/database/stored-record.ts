/** Reads the stored row of one record. */
import { type SQL, sql } from 'drizzle-orm';
import type { StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { name, target } from './sql-names.ts';
import { tableShape } from './table-shape.ts';

export interface StoredRecord {
  readonly raw: WireRecord | null;
  /** equipments: the type of the last response that contained it. */
  readonly askedType: string | null;
  readonly syncedAt: string;
  /** null: the source still had it. */
  readonly deletedAt: string | null;
}

/** For a row `t`: the type of the last response that contained it. */
export const askedTypeOf = ({ partition }: StreamDefinition): SQL =>
  partition === undefined
    ? sql`null`
    : sql`coalesce((select a.asked_type_id from ${partition.asked} a
        where a.account_id = t.account_id and a.equipment_id = t.id), t.${name(partition.column)})`;

/** undefined: there is no row. */
export async function readStoredRecord(
  db: Queryable,
  stream: StreamDefinition,
  { accountId, key }: { readonly accountId: string; readonly key: string },
): Promise<StoredRecord | undefined> {
  const { parent, keyColumn } = stream;
  const [row] = await db.execute<StoredRecord & Record<string, unknown>>(sql`
    select t._raw as raw, ${askedTypeOf(stream)} as "askedType", t._synced_at as "syncedAt", t._deleted_at as "deletedAt"
    from ${target(tableShape(parent))} t where t.account_id = ${accountId} and t.${name(keyColumn)} = ${key}`);
  return row;
}
