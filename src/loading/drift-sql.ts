/**
 * Finds rows that were changed behind our back, from staged records whose hash says that they are unchanged. Such a
 * row loses its hash, and the merge that follows writes it anew without taking it for a superseded state. Each function returns one statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import { name, of, same, stage, target } from '../database/sql-names.ts';
import type { TableShape } from '../database/table-shape.ts';

/** The staged children of a record are looked up by its number. */
export function indexStage(child: TableShape): SQL {
  return sql`create index if not exists ${name(`${child.stage}_ord`)} on ${stage(child)} (ord)`;
}

function forget(parent: TableShape, accountId: string, isDrifted: SQL): SQL {
  return sql`update ${target(parent)} t set _hash = null from ${stage(parent)} p
    where t.account_id = ${accountId} and ${same('t', 'p', parent.key)} and t._hash = p._hash
      and t._deleted_at is null and ${isDrifted}`;
}

/** What is left after that is as it should be: it leaves the stage, since even the attempt to write it would lock its row. */
export function dropWithoutDrift(parent: TableShape, accountId: string): SQL {
  return sql`delete from ${stage(parent)} p using ${target(parent)} t
    where t.account_id = ${accountId} and ${same('t', 'p', parent.key)} and t._hash = p._hash
      and t._deleted_at is null`;
}

/** Columns that tell something else than the record does. `ignored`: those that do not come from the record. */
export function forgetDriftedParents(parent: TableShape, ignored: readonly string[], accountId: string): SQL {
  const columns = parent.columns
    .map((column) => column.name)
    .filter((column) => column !== '_hash' && !ignored.includes(column));
  return forget(parent, accountId, sql`(${of('t', columns)}) is distinct from (${of('p', columns)})`);
}

/** Children that differ, lack or are too many. */
export function forgetDriftedChildren(parent: TableShape, child: TableShape, accountId: string): SQL {
  const columns = child.columns.map((column) => column.name);
  const foreignKey = name(child.key[0] ?? '');
  const stored = sql`select from ${target(child)} c where c.account_id = ${accountId}`;
  return forget(
    parent,
    accountId,
    sql`(exists (select from ${stage(child)} s where s.ord = p.ord and not exists (${stored}
          and ${same('c', 's', child.key)} and (${of('c', columns)}) is not distinct from (${of('s', columns)})))
      or exists (${stored} and c.${foreignKey} = t.${name(parent.key[0] ?? '')} and not exists (
          select from ${stage(child)} s where s.ord = p.ord and ${same('s', 'c', child.key)})))`,
  );
}
