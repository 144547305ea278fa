/**
 * Finds drift: rows that were changed in the warehouse, among staged records with an unchanged hash. Such a row loses its
 * hash, and the merge then rewrites it without creating a superseded state. For one record (`verify`) the differing columns
 * are read instead. Each function returns one statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import {
  definitions,
  isGone,
  keyColumn,
  name,
  of,
  same,
  stage,
  staged,
  target,
} from '../database/sql-names.ts';
import { receivedColumns, type StreamShape, type TableShape } from '../database/table-shape.ts';
import type { Row } from '../streams/stream.ts';
import { RawJson } from './record.ts';

/** `p`: staged rows with these columns; `t`: the stored rows of the same hash. */
function clearHash(
  parent: TableShape,
  accountId: string,
  { p, isDrifted }: Readonly<Record<'p' | 'isDrifted', SQL>>,
): SQL {
  return sql`update ${target(parent)} t set _hash = null from ${p} p
    where t.account_id = ${accountId} and ${same('t', 'p', parent.key)} and t._hash = p._hash
      and not ${isGone(parent)} and ${isDrifted}`;
}

export function clearHashOfDriftedParents(shape: StreamShape, accountId: string): SQL {
  const columns = receivedColumns(shape).map((column) => column.name);
  return clearHash(shape.parent, accountId, {
    // A key that the program makes is none of the received columns.
    p: staged(shape.parent, [...new Set(['_hash', ...shape.parent.key, ...columns])]),
    isDrifted: sql`(${of('t', columns)}) is distinct from (${of('p', columns)})`,
  });
}

/**
 * Finds children that differ, are missing or are too many: a staged row has no equal stored row, or the numbers of staged
 * and stored rows differ. Stored rows are looked up by key, row by row, however few rows of the account the planner expects.
 */
export function clearHashOfDriftedChildren(parent: TableShape, child: TableShape, accountId: string): SQL {
  const columns = child.columns.map((column) => column.name);
  const stored = sql`from ${target(child)} c where c.account_id = ${accountId}`;
  return clearHash(parent, accountId, {
    p: sql`(select ${of('r', ['ord', '_hash', ...parent.key])}, coalesce(n.children, 0) as children
      from ${stage(parent)} r left join (
        select ord, count(*) as children from ${stage(child)} group by ord) n on n.ord = r.ord offset 0)`,
    isDrifted: sql`(p.ord in (select s.ord from ${staged(child, ['ord', ...columns])} s where (
          select (${of('c', columns)}) is not distinct from (${of('s', columns)}) ${stored}
            and ${same('c', 's', child.key)}) is not true)
      or p.children <> (select count(*) ${stored} and c.${keyColumn(child)} = t.${keyColumn(parent)}))`,
  });
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

/** Compares the rows that one record should have in a table with the stored ones: a `RowComparison` for each. */
export function compareRows(
  table: TableShape,
  expected: Pick<TableShape, 'columns'> & { rows: readonly Row[]; accountId: string; key: string },
): SQL {
  const { rows, columns, accountId, key } = expected;
  const names = columns.map((column) => column.name);
  const differing = names.map(
    (one) => sql`case when s.${name(one)} is distinct from t.${name(one)} then ${one}::text end`,
  );
  const order = table.key.map((one) => sql`coalesce(s.${name(one)}, t.${name(one)})`);
  return sql`with s as ${givenRows(columns, rows)},
    t as (select ${of('x', names)} from ${target(table)} x
      where x.account_id = ${accountId} and x.${keyColumn(table)} = ${key})
    select to_jsonb(s) as source, to_jsonb(t) as stored,
      to_jsonb(array_remove(array[${sql.join(differing, sql`, `)}], null)) as differing
    from s full join t on ${same('s', 't', table.key)} order by ${sql.join(order, sql`, `)}`;
}
