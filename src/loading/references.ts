/** The foreign keys of a stream's tables, held against the rows of one record. */
import { getTableConfig } from 'drizzle-orm/pg-core';
import type { Row } from '../streams/stream.ts';
import type { PreparedRecord } from './prepare-batch.ts';
import type { StreamShape } from './stream-shape.ts';

type RowsOfRecord = Pick<PreparedRecord, 'parent' | 'children'>;

interface Reference {
  /** Position of the table that the key is in, and of the one that it points to; the parent's is 0. */
  readonly from: number;
  readonly to: number;
  /** Without `account_id`, in the same order on both sides. */
  readonly columns: readonly string[];
  readonly foreignColumns: readonly string[];
}

function referencesOf({ parent, children }: StreamShape): Reference[] {
  const tables = [parent, ...children].map(({ table }) => table);
  return tables.flatMap((table, from) =>
    getTableConfig(table).foreignKeys.map((key) => {
      const { columns, foreignColumns, foreignTable } = key.reference();
      const own = columns.map(({ name }) => name);
      if (own[0] !== 'account_id') throw new TypeError(`${key.getName()}: must start with account_id`);
      return {
        from,
        to: tables.indexOf(foreignTable),
        columns: own.slice(1),
        foreignColumns: foreignColumns.map(({ name }) => name).slice(1),
      };
    }),
  );
}

const keyOf = (row: Row, columns: readonly string[]): string =>
  columns.length === 1 ? String(row[columns[0] ?? '']) : JSON.stringify(columns.map((name) => row[name]));

/** Answers whether everything that the rows of a record refer to is among them: what a foreign key would ask. */
export function createReferenceCheck(shape: StreamShape): (record: RowsOfRecord) => boolean {
  const references = referencesOf(shape);
  const rowsOf = (record: RowsOfRecord, position: number): readonly Row[] =>
    position === 0 ? [record.parent] : (record.children[position - 1] ?? []);
  return (record) =>
    references.every(({ from, to, columns, foreignColumns }) => {
      const rows = rowsOf(record, from);
      if (rows.length === 0) return true;
      const there = rowsOf(record, to);
      if (there.length === 1) {
        const only = keyOf(there[0] ?? {}, foreignColumns);
        return rows.every((row) => keyOf(row, columns) === only);
      }
      const keys = new Set(there.map((row) => keyOf(row, foreignColumns)));
      return rows.every((row) => keys.has(keyOf(row, columns)));
    });
}
