/** Rows in the text format of `COPY`: tab between cells, `\N` for null, backslash escapes. */
import { RawJson, stringifyExactJson } from '../../shared/exact-json.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { ColumnShape } from '../database/table-shape.ts';
import type { Row } from '../streams/stream.ts';

const NEEDS_ESCAPE = /[\\\n\r\t]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCell(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(/[\\\n\r\t]/g, (found) => ESCAPES[found] ?? found) : text;
}

/** Types with text that never needs an escape. */
const PLAIN = new Set([
  'bigint',
  'boolean',
  'date',
  'integer',
  'numeric',
  'timestamp with time zone',
  'uuid',
]);

export function toCell(value: unknown, type: string): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value === 'string' && type !== 'jsonb') return PLAIN.has(type) ? value : escapeCell(value);
  if (type === 'jsonb') return escapeCell(value instanceof RawJson ? value.text : stringifyExactJson(value));
  if (Array.isArray(value)) return escapeCell(toArrayLiteral(value as (string | number | null)[]));
  return escapeCell(JSON.stringify(value));
}

/** `prefix`: cells before the row's own, each with its tab. */
export function toCopyLine(columns: readonly ColumnShape[], row: Row, prefix = ''): string {
  let line = prefix;
  for (let at = 0; at < columns.length; at += 1) {
    const column = columns[at];
    if (column === undefined) break;
    if (at > 0) line += '\t';
    line += toCell(row[column.name], column.type);
  }
  return `${line}\n`;
}

/** Bytes of a chunk that is worth a write to the socket. */
const CHUNK_BYTES = 256 * 1024;
/** Maximum number of UTF-8 bytes for a UTF-16 code unit. */
const MOST_BYTES_OF_A_UNIT = 3;

/** Buffer for encoding lines; its content is not kept between calls. */
const scratch = Buffer.allocUnsafe(CHUNK_BYTES);

/** The lines that `write` adds, in chunks. */
export function toCopyChunks(write: (add: (line: string) => void) => void, asked = CHUNK_BYTES): Buffer[] {
  const chunks: Buffer[] = [];
  const size = Math.min(asked, CHUNK_BYTES);
  let used = 0;
  const flush = (): void => {
    if (used > 0) chunks.push(Buffer.from(scratch.subarray(0, used)));
    used = 0;
  };
  write((line) => {
    if (used + line.length * MOST_BYTES_OF_A_UNIT > size) flush();
    if (line.length * MOST_BYTES_OF_A_UNIT > size) chunks.push(Buffer.from(line));
    else used += scratch.write(line, used);
  });
  flush();
  return chunks;
}

/** Joins small chunks, because each one costs a write to the socket. */
export function* joinChunks(chunks: readonly Buffer[]): Generator<Buffer> {
  let from = 0;
  let bytes = 0;
  for (const [at, chunk] of chunks.entries()) {
    if (bytes > 0 && bytes + chunk.length > CHUNK_BYTES) {
      yield Buffer.concat(chunks.slice(from, at), bytes);
      [from, bytes] = [at, 0];
    }
    bytes += chunk.length;
  }
  if (bytes > 0) yield Buffer.concat(chunks.slice(from), bytes);
}

/** The lines of rows, in chunks. */
export function toCopyText(columns: readonly ColumnShape[], rows: Iterable<Row>, size?: number): Buffer[] {
  return toCopyChunks((add) => {
    for (const row of rows) add(toCopyLine(columns, row));
  }, size);
}
