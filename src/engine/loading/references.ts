/** Checks the foreign keys of a stream's tables against the rows of one record. */
import { getTableConfig } from 'drizzle-orm/pg-core';
import type { Row } from '../streams/stream.ts';
import type { RowsOfRecord } from './normalize.ts';
import type { StreamShape } from '../database/table-shape.ts';

interface Reference {
  /** Position of the table with the key, and of the referenced table; the parent's is 0. */
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

/** Up to this number of rows a search is faster than a set. */
const FEW = 16;

const isSame = (one: unknown, other: unknown): boolean => one === other || String(one) === String(other);

/** Both in the order of the reference's columns. */
function refersTo(from: Row, to: Row, { columns, foreignColumns }: Reference): boolean {
  return columns.every((name, index) => isSame(from[name], to[foreignColumns[index] ?? '']));
}

/** Returns whether a record contains all rows that its rows refer to, as a foreign key would check. */
export function createReferenceCheck(shape: StreamShape): (record: RowsOfRecord) => boolean {
  const references = referencesOf(shape);
  const keyOf = (row: Row, columns: readonly string[]) =>
    JSON.stringify(columns.map((name) => String(row[name])));

  function holds(record: RowsOfRecord, reference: Reference): boolean {
    const rows = reference.from === 0 ? [record.parent] : (record.children[reference.from - 1] ?? []);
    if (rows.length === 0) return true;
    if (reference.to === 0) return rows.every((row) => refersTo(row, record.parent, reference));
    const there = record.children[reference.to - 1] ?? [];
    if (there.length <= FEW)
      return rows.every((row) => there.some((other) => refersTo(row, other, reference)));
    const keys = new Set(there.map((row) => keyOf(row, reference.foreignColumns)));
    return rows.every((row) => keys.has(keyOf(row, reference.columns)));
  }

  return (record) => references.every((reference) => holds(record, reference));
}
