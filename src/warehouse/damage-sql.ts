/**
 * Finds rows that were changed behind our back, from staged records whose hash says that they are unchanged. Such a
 * row loses its hash, and the merge that follows writes it anew. Each function returns one statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import { stage, target } from './merge-sql.ts';
import type { TableShape } from './table-shape.ts';

const name = (text: string): SQL => sql`${sql.identifier(text)}`;
const columnsOf = (alias: string, columns: readonly string[]): SQL =>
  sql.join(
    columns.map((column) => sql`${name(alias)}.${name(column)}`),
    sql`, `,
  );
const sameKey = (left: string, right: string, key: readonly string[]): SQL =>
  sql.join(
    key.map((column) => sql`${name(left)}.${name(column)} = ${name(right)}.${name(column)}`),
    sql` and `,
  );

/** The staged children of a record are looked up by its number. */
export function indexStage(child: TableShape): SQL {
  return sql`create index if not exists ${name(`${child.stage}_ord`)} on ${stage(child)} (ord)`;
}

function forget(parent: TableShape, accountId: string, isDamaged: SQL): SQL {
  return sql`update ${target(parent)} t set _hash = null from ${stage(parent)} p
    where t.account_id = ${accountId} and ${sameKey('t', 'p', parent.key)} and t._hash = p._hash
      and t._deleted_at is null and ${isDamaged}`;
}

/** What is left after that is as it should be: it leaves the stage, since even the attempt to write it would lock its row. */
export function dropUndamaged(parent: TableShape, accountId: string): SQL {
  return sql`delete from ${stage(parent)} p using ${target(parent)} t
    where t.account_id = ${accountId} and ${sameKey('t', 'p', parent.key)} and t._hash = p._hash
      and t._deleted_at is null`;
}

/** Columns that tell something else than the record does. `ignored`: those that do not come from the record. */
export function forgetDamagedParents(parent: TableShape, ignored: readonly string[], accountId: string): SQL {
  const columns = parent.columns
    .map((column) => column.name)
    .filter((column) => column !== '_hash' && !ignored.includes(column));
  return forget(
    parent,
    accountId,
    sql`(${columnsOf('t', columns)}) is distinct from (${columnsOf('p', columns)})`,
  );
}

/** Children that differ, lack or are too many. */
export function forgetDamagedChildren(parent: TableShape, child: TableShape, accountId: string): SQL {
  const columns = child.columns.map((column) => column.name);
  const foreignKey = name(child.key[0] ?? '');
  const stored = sql`select from ${target(child)} c where c.account_id = ${accountId}`;
  return forget(
    parent,
    accountId,
    sql`(exists (select from ${stage(child)} s where s.ord = p.ord and not exists (${stored}
          and ${sameKey('c', 's', child.key)} and (${columnsOf('c', columns)}) is not distinct from (${columnsOf('s', columns)})))
      or exists (${stored} and c.${foreignKey} = t.${name(parent.key[0] ?? '')} and not exists (
          select from ${stage(child)} s where s.ord = p.ord and ${sameKey('s', 'c', child.key)})))`,
  );
}
