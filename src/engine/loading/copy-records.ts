/**
 * Sends rows by COPY: rows of new records directly into their tables, rows of changed records into the staging tables, from
 * which the merge takes them.
 */
import { toArrayLiteral } from '../database/array-literal.ts';
import type { RunKey } from '../control-tables/control-tables.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import type { Connection } from '../database/connection.ts';
import type { ColumnShape, StreamShape, TableShape } from '../database/table-shape.ts';
import { ignoreRejection } from '../../shared/errors.ts';
import type { Row } from '../streams/stream.ts';
import { type PreparedRecord, RawJson, type ReadRecord } from './record.ts';

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const ESCAPED = Object.keys(ESCAPES);

/** `includes` takes a tenth of the time of a regular expression, and most cells need no escape. */
function escapeCell(text: string): string {
  return ESCAPED.some((one) => text.includes(one))
    ? text.replace(/[\\\n\r\t]/g, (found) => ESCAPES[found] ?? found)
    : text;
}

/** The text format of `COPY`: tab between cells, `\N` for null, backslash escapes. */
function toCopyText(value: unknown, type: string): string {
  if (value === null || value === undefined) return '\\N';
  // Other types with values as text (numbers, times, uuid) never need an escape.
  if (typeof value === 'string' && type !== 'jsonb') return type === 'text' ? escapeCell(value) : value;
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

const CHUNK_BYTES = 64 * 1024;
/** Maximum number of UTF-8 bytes for a UTF-16 code unit. */
const MOST_BYTES_OF_A_UNIT = 3;

/** The text of one COPY, encoded as it is made: bytes take less memory than texts, and large chunks fewer writes. */
class CopyChunks {
  private full: Buffer[] = [];
  private open: Buffer | undefined;
  private used = 0;

  add(text: string): void {
    const most = text.length * MOST_BYTES_OF_A_UNIT;
    if (this.used + most > CHUNK_BYTES) this.close();
    if (most > CHUNK_BYTES) this.full.push(Buffer.from(text));
    else this.used += (this.open ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)).write(text, this.used);
  }

  private close(): void {
    if (this.open !== undefined) this.full.push(this.open.subarray(0, this.used));
    this.open = undefined;
    this.used = 0;
  }

  /** Removes and returns everything that was added. */
  take(): readonly Buffer[] {
    this.close();
    return this.full.splice(0);
  }
}

/** Rows of records in the format of COPY. */
export interface CopyText {
  readonly records: ReadRecord[];
  /** One for each table, parents first. */
  readonly chunks: readonly CopyChunks[];
  /** When it was begun, ISO text. */
  readonly begunAt: string;
}

/** PostgreSQL reads it as the transaction's time. */
const NOW = 'now';

/** The COPY of the rows of one table. */
interface TableCopy {
  readonly statement: string;
  /** The cells that begin every line of a record, each with its tab. */
  readonly prefixOf: (record: PreparedRecord, into: CopyText) => string;
}

/** `first`: columns before those of the table's own. */
export const copyInto = (table: string, columns: readonly ColumnShape[], first: readonly string[] = []) =>
  `copy ${table} (${[...first, ...columns.map(({ name }) => name)].map((name) => `"${name}"`).join(', ')}) from stdin`;

/** Without a source time for states a row gets the table's default as the beginning of its state. */
function toTarget(
  { quoted, columns, history }: TableShape,
  own: Readonly<Record<string, string>>,
): TableCopy {
  const since = history?.since ?? null;
  const first = [...Object.keys(own), ...(since === null ? [] : ['_valid_from'])];
  const prefix = Object.values(own)
    .map((value) => `${escapeCell(value)}\t`)
    .join('');
  return {
    statement: copyInto(quoted, columns, first),
    prefixOf({ parent }, { begunAt }) {
      if (since === null) return prefix;
      const time = parent[since] as string | null;
      // The clock of the source may be ahead. Both texts have one form.
      return `${prefix}${time === null || time > begunAt ? NOW : time}\t`;
    },
  };
}

const toStage = ({ stage, columns }: TableShape): TableCopy => ({
  statement: copyInto(`pg_temp."${stage}"`, columns, ['ord']),
  prefixOf: ({ read }) => `${read.ord}\t`,
});

const setLocally = (settings: Readonly<Record<string, string>>): string =>
  `select ${Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`;

const KEEP_PLANS = {
  before: setLocally({ plan_cache_mode: 'auto', enable_seqscan: 'off' }),
  after: setLocally({ plan_cache_mode: 'force_custom_plan', enable_seqscan: 'on' }),
};
const AS_REPLICA = {
  before: setLocally({ session_replication_role: 'replica' }),
  after: setLocally({ session_replication_role: 'origin' }),
};

/**
 * How rows of new records reach the tables. PostgreSQL looks up the referenced row for each copied one; this is most of the
 * work of a first load and is redundant, because the rows of a record refer only to each other (a test of every stream), and
 * a record is stored as a whole.
 *
 * - A role that may set `session_replication_role` (a superuser, or from PostgreSQL 15 on a role with the grant) copies
 *   without the lookups, like a replica. The exception is a trigger on one of the tables, because the setting would disable it
 *   too.
 * - For other roles the lookups keep their plan. By default a session plans every statement again (tables grow meanwhile),
 *   including these lookups, and planning one takes twice as long as running it. The kept plan uses the key's index, however
 *   small the table still is.
 * - null: PostgreSQL refuses COPY where row-level security is active.
 */
export async function readCopySettings(
  connection: Pick<Connection, 'query'>,
  { parent, children }: Pick<StreamShape, 'parent' | 'children'>,
) {
  const names = [parent, ...children].map(({ quoted }) => `'${quoted}'::regclass`);
  const [role] = await connection.query<
    Record<'confined' | 'superuser' | 'triggered' | 'grantable', boolean>
  >(
    `select current_setting('is_superuser') = 'on' as superuser,
       current_setting('server_version_num')::int >= 150000 as grantable, row_security_active(${names[0]}) as confined,
       exists (select from pg_trigger where tgrelid in (${names.join(', ')}) and not tgisinternal) as triggered`,
  );
  if (role?.confined !== false) return null;
  if (role.triggered) return KEEP_PLANS;
  if (role.superuser || !role.grantable) return role.superuser ? AS_REPLICA : KEEP_PLANS;
  const [granted] = await connection.query<{ may: boolean }>(
    `select has_parameter_privilege('session_replication_role', 'set') as may`,
  );
  return granted?.may === true ? AS_REPLICA : KEEP_PLANS;
}

export function createRecordCopies(
  { connection }: Pick<StreamSession, 'connection'>,
  shape: StreamShape,
  { accountId: account_id, runId }: RunKey,
) {
  const { parent, children } = shape;
  const tables = [parent, ...children];
  const intoTables = [
    toTarget(parent, { account_id, _run_id: String(runId) }),
    ...children.map((child) => toTarget(child, { account_id })),
  ];
  const intoStages = tables.map(toStage);
  let settings: ReturnType<typeof readCopySettings> | undefined;
  const readSettings = () => (settings ??= readCopySettings(connection, shape));

  function render(copies: readonly TableCopy[], record: PreparedRecord, into: CopyText): void {
    into.records.push(record.read);
    tables.forEach(({ columns }, position) => {
      const rows = record.rows[position] ?? [];
      if (rows.length === 0) return;
      const prefix = copies[position]?.prefixOf(record, into);
      let lines = '';
      for (const row of rows) lines += toCopyLine(columns, row, prefix);
      into.chunks[position]?.add(lines);
    });
  }

  /** Frees the memory of the rows. */
  async function copy(copies: readonly TableCopy[], { chunks }: CopyText): Promise<void> {
    for (const [position, ofTable] of chunks.entries()) {
      const lines = ofTable.take();
      if (lines.length > 0) await connection.copy(copies[position]?.statement ?? '', lines);
    }
  }

  async function copyIntoTables(text: CopyText): Promise<void> {
    const { before, after } = (await readSettings()) ?? KEEP_PLANS;
    // The settings are sent before the first COPY, which does not wait for the response.
    await Promise.all([connection.query(before), copy(intoTables, text)]);
    // Not awaited, and its failure is ignored, because every statement after it would fail too.
    void ignoreRejection(connection.query(after));
  }

  return {
    mayCopyIntoTables: async () => (await readSettings()) !== null,
    begin: (): CopyText => ({
      records: [],
      chunks: tables.map(() => new CopyChunks()),
      begunAt: new Date().toISOString(),
    }),
    addNew: (record: PreparedRecord, into: CopyText) => render(intoTables, record, into),
    addChanged: (record: PreparedRecord, into: CopyText) => render(intoStages, record, into),
    async send(added: CopyText, changed: CopyText): Promise<void> {
      if (added.records.length > 0) await copyIntoTables(added);
      await copy(intoStages, changed);
    },
  };
}
