/** Rows in the text format of `COPY`: tab between cells, `\N` for null, backslash escapes. */
import type { Row } from '../streams/stream.ts';
import type { ColumnShape } from './table-shape.ts';

const NEEDS_ESCAPE = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCell(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(/[\\\n\r\t]/g, (found) => ESCAPES[found] ?? found) : text;
}

/** `{"a","b\"c"}` */
export function toArrayLiteral(values: readonly (string | number | null)[]): string {
  const cells = values.map((value) =>
    value === null ? 'NULL' : `"${String(value).replace(/[\\"]/g, '\\$&')}"`,
  );
  return `{${cells.join(',')}}`;
}

export function toCell(value: unknown, type: string): string {
  if (value === null || value === undefined) return '\\N';
  if (type === 'jsonb') return escapeCell(value instanceof RawJson ? value.text : JSON.stringify(value));
  if (Array.isArray(value)) return escapeCell(toArrayLiteral(value as (string | number | null)[]));
  return escapeCell(typeof value === 'string' ? value : JSON.stringify(value));
}

/** JSON that is already text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export function toCopyLine(columns: readonly ColumnShape[], row: Row): string {
  let line = '';
  let separator = '';
  for (const column of columns) {
    line += separator + toCell(row[column.name], column.type);
    separator = '\t';
  }
  return `${line}\n`;
}

/** Characters of a piece that is worth a write to the socket. */
const CHUNK = 256 * 1024;

/** Lines joined to such pieces. `prefix`: cells, each with its tab, that stand before those of every row. */
export function* toChunks(
  columns: readonly ColumnShape[],
  rows: Iterable<Row>,
  { prefix = '', size = CHUNK }: { readonly prefix?: string; readonly size?: number } = {},
): Generator<string> {
  let chunk = '';
  for (const row of rows) {
    chunk += prefix + toCopyLine(columns, row);
    if (chunk.length >= size) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}
