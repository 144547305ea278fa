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
  const shape = tableShape(stream.parent);
  const [row] = await db.execute<{
    raw: WireRecord | null;
    asked_type: string | null;
    synced_at: string;
    deleted_at: string | null;
  }>(sql`
    select t._raw as raw, ${askedTypeOf(stream)} as asked_type, t._synced_at as synced_at, t._deleted_at as deleted_at
    from ${target(shape)} t where t.account_id = ${accountId} and t.${name(shape.key[0] ?? '')} = ${key}`);
  if (row === undefined) return undefined;
  const { raw, asked_type: askedType, synced_at: syncedAt, deleted_at: deletedAt } = row;
  return { raw, askedType, syncedAt, deletedAt };
}
