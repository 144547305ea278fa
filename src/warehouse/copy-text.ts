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

function toCell(value: unknown, type: string): string {
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
  for (const [position, column] of columns.entries()) {
    line += (position === 0 ? '' : '\t') + toCell(row[column.name], column.type);
  }
  return `${line}\n`;
}

/** Lines joined to pieces that are worth a write to the socket. */
export function* toChunks(
  columns: readonly ColumnShape[],
  rows: Iterable<Row>,
  size = 256 * 1024,
): Generator<string> {
  let chunk = '';
  for (const row of rows) {
    chunk += toCopyLine(columns, row);
    if (chunk.length >= size) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}
