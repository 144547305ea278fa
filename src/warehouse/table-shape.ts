import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';

export interface ColumnShape {
  readonly name: string;
  /** As PostgreSQL spells it: `text`, `bigint[]`, `timestamp with time zone`. */
  readonly type: string;
}

/** What the merge needs to know of a table, read off its drizzle declaration: no list is kept twice. */
export interface TableShape {
  readonly table: PgTable;
  readonly schema: string;
  readonly name: string;
  /** Primary key without `account_id`. */
  readonly key: readonly string[];
  /** Columns that come from a record, in order; of an entity table also `_hash` and `_raw`. */
  readonly columns: readonly ColumnShape[];
  /** The temporary table that takes rows before the merge. */
  readonly stage: string;
}

const WRITTEN_BY_THE_MERGE = new Set(['account_id', '_synced_at', '_deleted_at', '_run_id']);

export function tableShape(table: PgTable): TableShape {
  const config = getTableConfig(table);
  const primaryKey = config.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
  if (primaryKey[0] !== 'account_id') {
    throw new TypeError(`${config.name}: the primary key must start with account_id`);
  }
  return {
    table,
    schema: config.schema ?? 'public',
    name: config.name,
    key: primaryKey.slice(1),
    columns: config.columns
      .filter((column) => !WRITTEN_BY_THE_MERGE.has(column.name))
      .map((column) => ({ name: column.name, type: column.getSQLType() })),
    stage: `stage_${config.name}`,
  };
}
