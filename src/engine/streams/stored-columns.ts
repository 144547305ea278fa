/** Maps fields of a record to columns, from the streams' declarations. */
import { getTableColumns, getTableName } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { StreamDefinition, WireFields } from './stream.ts';

export interface StoredColumn {
  /** As `table.column`. */
  readonly name: string;
  /** The reason why the worker needs the column; null: it may be left out. */
  readonly needed: string | null;
  /** Text that people wrote, or a list of such texts. */
  readonly isText: boolean;
}

const NOT_SENT = 'it is not a field that the service sends';

export const columnName = (table: PgTable, column: string): string => `${getTableName(table)}.${column}`;

/** `table.column` of each field, also of one that has no column or is part of a key, and whether it is text. */
function sentColumns(table: PgTable, fields: WireFields, into: Map<string, boolean>): void {
  for (const [column, { isText = false, rows }] of Object.entries(fields)) {
    into.set(columnName(table, column), isText);
    if (rows?.fields !== undefined) sentColumns(rows.table, rows.fields, into);
    else if (rows !== undefined) {
      for (const { name: own, columnType } of getTableConfig(rows.table).columns)
        into.set(columnName(rows.table, own), columnType === 'PgText');
    }
  }
}

/** Columns with ids of people, of a stream's table and those of its lists. */
export const userColumns = ({
  parent: table,
  fields,
}: Pick<StreamDefinition, 'parent' | 'fields'>): { readonly table: PgTable; readonly column: string }[] =>
  Object.entries(fields).flatMap(([column, { isUser = false, rows }]) => [
    ...(isUser && column in getTableColumns(table) ? [{ table, column }] : []),
    ...(rows?.fields === undefined ? [] : userColumns({ parent: rows.table, fields: rows.fields })),
  ]);

export function storedColumns(stream: StreamDefinition): StoredColumn[] {
  const sent = new Map<string, boolean>();
  sentColumns(stream.parent, stream.fields, sent);
  return [stream.parent, ...stream.children].flatMap((table) => {
    const { columns, primaryKeys } = getTableConfig(table);
    const keys = new Set(primaryKeys.flatMap((one) => one.columns.map((column) => column.name)));
    const whyNeeded = (column: string, notNull: boolean): string | null => {
      if (keys.has(column)) return 'it identifies records';
      if (!sent.has(columnName(table, column)) || notNull) return NOT_SENT;
      if (column === stream.changeTimeColumn) return 'it shows which of two versions of a record is newer';
      if (column === stream.deletedColumn) return 'it shows whether the source has deleted the record';
      return column === stream.partitionedBy?.column ? 'it names the list that contains a record' : null;
    };
    return columns.map((column) => {
      const name = columnName(table, column.name);
      return { name, needed: whyNeeded(column.name, column.notNull), isText: sent.get(name) === true };
    });
  });
}
