/**
 * Compares records column by column with their stored rows, also those with an unchanged hash: it finds rows that were changed
 * in the warehouse. A reconcile removes the hash of such a row, and the merge then rewrites it without creating a superseded
 * state; `verify` shows the columns of one record. Each function returns one statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import {
  definitions,
  isGone,
  joinColumns,
  keyColumn,
  name,
  of,
  same,
  staged,
} from '../database/sql-names.ts';
import type { ColumnShape, StreamShape, TableShape } from '../database/table-shape.ts';
import type { Row } from '../streams/stream.ts';
import { RawJson } from './record.ts';

/** Key columns, and those with values of the record: the other columns of the parent describe the response, or are computed. */
export const comparedColumns = ({ stream, parent }: StreamShape, table: TableShape): ColumnShape[] =>
  table.columns.filter(
    ({ name: one }) => table !== parent || one === '_raw' || one in stream.fields || table.key.includes(one),
  );

/** `records`: with `ord` and their key. `expected`: the rows that they should have in the table, each with the `ord` of its record. */
type Sides = Readonly<Record<'records' | 'expected', SQL>>;

/**
 * The expected rows `s` of a table beside the stored ones `t`; either side may lack a row. Stored rows are looked up by key,
 * record by record, however few rows of the account the planner expects.
 */
function sideBySide(
  { parent }: StreamShape,
  table: TableShape,
  { names, accountId, records, expected }: Sides & { readonly names: readonly string[]; accountId: string },
): SQL {
  return sql`${expected} s full join (select p.ord, c.* from ${records} p cross join lateral (
      select ${joinColumns(names)} from ${table.table} r
      where r.account_id = ${accountId} and r.${keyColumn(table)} = p.${keyColumn(parent)} offset 0) c) t
    on s.ord = t.ord and ${same('s', 't', table.key)}`;
}

/** Selects the staged records that have the hash of their row, and differ from it in a column or a child. */
export function clearHashOfDrifted(shape: StreamShape, accountId: string): SQL {
  const { parent, children } = shape;
  const records = staged(parent, ['ord', '_hash', ...parent.key]);
  const drifted = [parent, ...children].map((table) => {
    const names = comparedColumns(shape, table).map((column) => column.name);
    const expected = staged(table, ['ord', ...names]);
    return sql`select coalesce(s.ord, t.ord) from ${sideBySide(shape, table, { names, accountId, records, expected })}
      where (${of('s', names)}) is distinct from (${of('t', names)})`;
  });
  // Evaluated first: nothing of it is repeated for each stored row.
  const different = sql`(select q.* from ${records} q where q.ord in (${sql.join(drifted, sql` union all `)}) offset 0)`;
  return sql`update ${parent.table} t set _hash = null from ${different} p
    where t.account_id = ${accountId} and ${same('t', 'p', parent.key)} and t._hash = p._hash and not ${isGone(parent)}`;
}

const toJson = (row: Row): string =>
  `{${Object.entries(row)
    .map(([one, value]) => {
      const text = value instanceof RawJson ? value.text : JSON.stringify(value ?? null);
      return `${JSON.stringify(one)}:${text}`;
    })
    .join(',')}}`;

/** Rows that come as a parameter, with the types of these columns. */
export const givenRows = (columns: TableShape['columns'], rows: readonly Row[]): SQL =>
  sql`(select * from jsonb_to_recordset(${`[${rows.map(toJson).join(',')}]`}::jsonb) as g (${definitions(columns)}))`;

/** A stored row, an expected row, or both. */
export interface RowComparison extends Record<string, unknown> {
  /** null: the source has no such row. */
  readonly source: Row | null;
  /** null: it is not stored. */
  readonly stored: Row | null;
  /** Columns with different values. */
  readonly differing: readonly string[];
}

/** The rows that one record should have in a table, and those that it has: a `RowComparison` for each. */
export function compareRows(
  shape: StreamShape,
  table: TableShape,
  { rows, accountId, key }: { readonly rows: readonly Row[]; accountId: string; key: string },
): SQL {
  const columns = comparedColumns(shape, table);
  const names = columns.map((column) => column.name);
  const records = sql`(select 0 as ord, ${key}::text as ${keyColumn(shape.parent)})`;
  const expected = sql`(select 0 as ord, g.* from ${givenRows(columns, rows)} g)`;
  const differing = names.map(
    (one) => sql`case when s.${name(one)} is distinct from t.${name(one)} then ${one}::text end`,
  );
  const order = table.key.map((one) => sql`coalesce(s.${name(one)}, t.${name(one)})`);
  return sql`select to_jsonb(s) - 'ord' as source, to_jsonb(t) - 'ord' as stored,
      to_jsonb(array_remove(array[${sql.join(differing, sql`, `)}], null)) as differing
    from ${sideBySide(shape, table, { names, accountId, records, expected })} order by ${sql.join(order, sql`, `)}`;
}
