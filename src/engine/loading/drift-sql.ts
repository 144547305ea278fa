/**
 * Finds drift: rows that were changed in the warehouse, among staged records with an unchanged hash. Such a row loses its
 * hash, and the merge then rewrites it without creating a superseded state. Each function returns one statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import { name, of, same, stage, staged, target } from '../database/sql-names.ts';
import type { TableShape } from '../database/table-shape.ts';

/** `p`: staged rows with these columns; `t`: the stored rows of the same hash. */
function clearHash(
  parent: TableShape,
  accountId: string,
  { p, isDrifted }: Readonly<Record<'p' | 'isDrifted', SQL>>,
): SQL {
  return sql`update ${target(parent)} t set _hash = null from ${p} p
    where t.account_id = ${accountId} and ${same('t', 'p', parent.key)} and t._hash = p._hash
      and t._deleted_at is null and ${isDrifted}`;
}

/** Deletes the remaining rows from the stage, because they are correct and even an attempt to write a row would lock it. */
export function dropWithoutDrift(parent: TableShape, accountId: string): SQL {
  return sql`delete from ${stage(parent)} where ord in (
    select p.ord from ${staged(parent, ['ord', '_hash', ...parent.key])} p join ${target(parent)} t
      on t.account_id = ${accountId} and ${same('t', 'p', parent.key)}
    where t._hash = p._hash and t._deleted_at is null)`;
}

/** `ignored`: columns that do not come from the record. */
export function clearHashOfDriftedParents(
  parent: TableShape,
  ignored: readonly string[],
  accountId: string,
): SQL {
  const columns = parent.columns
    .map((column) => column.name)
    .filter((column) => column !== '_hash' && !ignored.includes(column));
  return clearHash(parent, accountId, {
    p: staged(parent, ['_hash', ...columns]),
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
      or p.children <> (select count(*) ${stored} and c.${name(child.key[0] ?? '')} = t.${name(parent.key[0] ?? '')}))`,
  });
}
