/**
 * Reads the stored rows of one record and compares them with the expected rows; PostgreSQL decides which
 * values are equal.
 */
import { type SQL, sql } from 'drizzle-orm';
import { stringifyExactJson } from '../../shared/exact-json.ts';
import type { Row, StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { list, name, of, same, target } from './sql-names.ts';
import { type TableShape, tableShape } from './table-shape.ts';

export interface StoredRecord {
  readonly raw: WireRecord | null;
  /** equipments: the type of the last response that contained it. */
  readonly askedType: string | null;
  readonly syncedAt: string;
  /** null: the source still had it. */
  readonly deletedAt: string | null;
}

interface RecordScope {
  readonly accountId: string;
  readonly key: string;
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
  { accountId, key }: RecordScope,
): Promise<StoredRecord | undefined> {
  const { parent, keyColumn } = stream;
  const [row] = await db.execute<{
    raw: WireRecord | null;
    asked_type: string | null;
    synced_at: string;
    deleted_at: string | null;
  }>(sql`
    select t._raw as raw, ${askedTypeOf(stream)} as asked_type, t._synced_at as synced_at, t._deleted_at as deleted_at
    from ${target(tableShape(parent))} t where t.account_id = ${accountId} and t.${name(keyColumn)} = ${key}`);
  if (row === undefined) return undefined;
  const { raw, asked_type: askedType, synced_at: syncedAt, deleted_at: deletedAt } = row;
  return { raw, askedType, syncedAt, deletedAt };
}

/** A stored row, an expected row, or both. */
interface RowComparison {
  /** null: the source has no such row. */
  readonly source: Row | null;
  /** null: it is not stored. */
  readonly stored: Row | null;
  /** Columns with different values. */
  readonly differing: readonly string[];
}

/** `columns`: those that are compared; the key is among them. */
export async function compareRows(
  db: Queryable,
  {
    table,
    columns,
    rows,
    accountId,
    key,
  }: RecordScope & {
    readonly table: TableShape;
    readonly columns: TableShape['columns'];
    readonly rows: readonly Row[];
  },
): Promise<readonly RowComparison[]> {
  const names = columns.map((column) => column.name);
  const [recordKey = ''] = table.key;
  const types = sql.join(
    columns.map((column) => sql`${name(column.name)} ${sql.raw(column.type)}`),
    sql`, `,
  );
  const differing = sql.join(
    names.map(
      (column) =>
        sql`case when s.${name(column)} is distinct from t.${name(column)} then ${column}::text end`,
    ),
    sql`, `,
  );
  return await db.execute<RowComparison & Record<string, unknown>>(sql`
    with s as (select ${list(names)} from jsonb_to_recordset(${stringifyExactJson(rows)}::jsonb) as r (${types})),
      t as (select ${of('x', names)} from ${target(table)} x
        where x.account_id = ${accountId} and x.${name(recordKey)} = ${key})
    select to_jsonb(s) as source, to_jsonb(t) as stored, to_jsonb(array_remove(array[${differing}], null)) as differing
    from s full join t on ${same('s', 't', table.key)}
    order by ${sql.join(
      table.key.map((column) => sql`coalesce(s.${name(column)}, t.${name(column)})`),
      sql`, `,
    )}`);
}
