/**
 * Sends rows by COPY: rows of new records directly into their tables, rows of changed records into the staging tables, from
 * which the merge takes them.
 */
import { toArrayLiteral } from '../database/array-literal.ts';
import type { RunKey } from '../control-tables/control-tables.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { isDataError } from '../database/database-error.ts';
import type { ColumnShape, StreamShape, TableShape } from '../database/table-shape.ts';
import { ignoreRejection } from '../../shared/errors.ts';
import type { Row } from '../streams/stream.ts';
import { createCopySettings } from './copy-settings.ts';
import { normalize, parseRecord, type PreparedRecord, RawJson, type ReadRecord } from './record.ts';

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

/** The text format of `COPY`: tab between cells, `\N` for null, backslash escapes. */
function toCopyText(value: unknown, type: string): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value === 'string' && type !== 'jsonb') return PLAIN.has(type) ? value : escapeCell(value);
  if (type === 'jsonb') return escapeCell(value instanceof RawJson ? value.text : JSON.stringify(value));
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

/** The destination of rows: the tables for new records, the staging tables for changed ones. */
type CopyTarget = 'tables' | 'stages';

/** Rows of records in the format of COPY. */
export interface CopyText {
  readonly destination: CopyTarget;
  readonly records: ReadRecord[];
  /** One for each table, parents first. */
  readonly chunks: readonly CopyChunks[];
}

/** PostgreSQL reads it as the transaction's time. */
const NOW = 'now';

/** The COPY of the rows of one table. */
interface TableCopy {
  readonly statement: string;
  /** The columns with cells that differ between rows of one record, in order. */
  readonly columns: readonly ColumnShape[];
  /** The cells that begin every line of a record, each with its tab. */
  readonly prefixOf: (record: PreparedRecord) => string;
}

const copyInto = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.map((name) => `"${name}"`).join(', ')}) from stdin`;

const columnNames = (columns: readonly ColumnShape[]): string[] => columns.map(({ name }) => name);

/** True for tables with a source time for states; other rows get the table's default as the beginning of their state. */
const hasSince = ({ history }: TableShape): boolean => (history?.since ?? null) !== null;

function toTarget(
  shape: TableShape,
  { accountId, runId, isParent }: RunKey & { readonly isParent: boolean },
): TableCopy {
  const began = { name: '_valid_from', type: 'timestamp with time zone' };
  const columns = hasSince(shape) ? [...shape.columns, began] : shape.columns;
  const common = isParent ? { account_id: accountId, _run_id: String(runId) } : { account_id: accountId };
  const prefix = Object.values(common)
    .map((value) => `${toCopyText(value, 'text')}\t`)
    .join('');
  const names = [...Object.keys(common), ...columnNames(columns)];
  return {
    statement: copyInto(`"${shape.schema}"."${shape.name}"`, names),
    columns,
    prefixOf: () => prefix,
  };
}

const toStage = (shape: TableShape): TableCopy => ({
  statement: copyInto(`pg_temp."${shape.stage}"`, ['ord', ...columnNames(shape.columns)]),
  columns: shape.columns,
  prefixOf: ({ read }) => `${read.ord}\t`,
});

/** The lines of records in one table. */
function copyLines(
  { columns, prefixOf }: TableCopy,
  records: readonly PreparedRecord[],
  position: number,
): string {
  let lines = '';
  for (const record of records) {
    const prefix = prefixOf(record);
    for (const row of record.rows[position] ?? []) lines += toCopyLine(columns, row, prefix);
  }
  return lines;
}

export function createRecordCopies(session: StreamSession, shape: StreamShape, scope: RunKey) {
  const { connection } = session;
  const tables = [shape.parent, ...shape.children];
  const copies: Readonly<Record<CopyTarget, readonly TableCopy[]>> = {
    tables: tables.map((table) => toTarget(table, { ...scope, isParent: table === shape.parent })),
    stages: tables.map(toStage),
  };
  const withCopySettings = createCopySettings(connection, shape);
  const since = shape.parent.history?.since ?? undefined;
  const dated = tables.flatMap((table, position) => (hasSince(table) ? [position] : []));

  const begin = (destination: CopyTarget): CopyText => ({
    destination,
    records: [],
    chunks: tables.map(() => new CopyChunks()),
  });

  /** Adds the rows of records. */
  function render(records: readonly PreparedRecord[], into: CopyText): void {
    for (const { read, parent, rows } of records) {
      into.records.push(read);
      if (into.destination === 'stages' || since === undefined) continue;
      const time = parent[since] as string | null;
      // The clock of the source may be ahead.
      const began = { _valid_from: time === null || Date.parse(time) > Date.now() ? NOW : time };
      for (const position of dated) for (const row of rows[position] ?? []) Object.assign(row, began);
    }
    for (const [position, table] of copies[into.destination].entries())
      into.chunks[position]?.add(copyLines(table, records, position));
  }

  async function copy({ destination, chunks }: CopyText): Promise<void> {
    for (const [position, { statement }] of copies[destination].entries()) {
      const ofTable = chunks[position]?.close() ?? [];
      if (ofTable.length > 0) await connection.copy(statement, ofTable);
    }
  }

  /** False: PostgreSQL refuses one of the records for its data. */
  async function copyIntoTables(text: CopyText): Promise<boolean> {
    try {
      // The savepoint is sent before the first COPY, which does not wait for the response, because all later statements
      // would fail too.
      await Promise.all([connection.query('savepoint batch'), withCopySettings(() => copy(text))]);
      void ignoreRejection(connection.query('release savepoint batch'));
      return true;
    } catch (error) {
      if (!isDataError(error)) throw error;
      await connection.query('rollback to savepoint batch');
      return false;
    }
  }

  async function stage(records: readonly ReadRecord[]): Promise<void> {
    const text = begin('stages');
    render(
      records.map((read) => normalize(shape.stream, read, parseRecord(shape.stream, read))),
      text,
    );
    await copy(text);
  }

  let hasPolicies: Promise<boolean> | undefined;
  async function readPolicies(): Promise<boolean> {
    const [row] = await connection.query<{ active: boolean }>('select row_security_active($1) as active', [
      `"${shape.parent.schema}"."${shape.parent.name}"`,
    ]);
    return row?.active === true;
  }

  /** The rows have the time of the clock: after it was set back, readers of changes would miss them. */
  async function correctTime({ records }: CopyText): Promise<void> {
    const { now, syncedAt } = session.transactionTime ?? {};
    if (syncedAt === now || records.length === 0) return;
    await connection.query(
      `update "${shape.parent.schema}"."${shape.parent.name}" set _synced_at = $3::timestamptz
        where account_id = $1 and "${shape.parent.key[0]}" = any($2::text[])`,
      [scope.accountId, toArrayLiteral(records.map(({ key }) => key)), syncedAt],
    );
  }

  return {
    /**
     * True if rows of new records may be copied directly into the tables: PostgreSQL refuses COPY where row-level security
     * is active.
     */
    mayCopyIntoTables: async () => !(await (hasPolicies ??= readPolicies())),
    begin,
    render,
    stage,
    /** False: PostgreSQL does not take the added records into the tables, so they are staged, too. */
    async send(added: CopyText, changed: CopyText): Promise<boolean> {
      const isTaken = added.records.length === 0 || (await copyIntoTables(added));
      await copy(changed);
      if (!isTaken) await stage(added.records);
      else await correctTime(added);
      return isTaken;
    },
  };
}
