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

export function toCopyText(value: unknown, type: string): string {
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
    line += toCopyText(row[column.name], column.type);
  }
  return `${line}\n`;
}

/** Bytes of a chunk that is worth a write to the socket. */
const CHUNK_BYTES = 64 * 1024;
/** Maximum number of UTF-8 bytes for a UTF-16 code unit. */
const MOST_BYTES_OF_A_UNIT = 3;

/** The text of one COPY, encoded into large chunks, because each chunk costs a write to the socket. */
export class CopyChunks {
  private readonly full: Buffer[] = [];
  private open: Buffer | undefined;
  private used = 0;

  add(text: string): void {
    const most = text.length * MOST_BYTES_OF_A_UNIT;
    if (this.used + most > CHUNK_BYTES) this.close();
    if (most > CHUNK_BYTES) this.full.push(Buffer.from(text));
    else this.used += (this.open ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)).write(text, this.used);
  }

  /** The chunks of everything that was added. */
  close(): readonly Buffer[] {
    if (this.open !== undefined) this.full.push(this.open.subarray(0, this.used));
    this.open = undefined;
    this.used = 0;
    return this.full;
  }
}
