/**
 * A record before it is stored: its key and checksum from the received bytes; if it has to be parsed, its value and its rows.
 * Pure.
 */
import { hash } from 'node:crypto';
import { Received } from '../../shared/received.ts';
import type { AddIssue, ReadContext, StreamDefinition, WireRecord } from '../streams/stream.ts';
import { isWireRecord, key as keyField, recordKey, toStorableText } from '../streams/wire.ts';

export interface ReadRecord {
  readonly received: Received;
  /** null: the record has no usable key. */
  readonly key: string | null;
  /** uuid: two digits of the stream's `normalizerVersion`, then 120 bits of SHA-256 over everything that the row depends on. */
  readonly hash: string;
  readonly about: ReadContext;
  /** Number of the record in its run. */
  readonly ord: number;
  /** Names of fields that were dropped although the service is not known to send them. */
  readonly unknown: readonly string[];
}

/** A record that can be a row. */
export type KeyedRecord = ReadRecord & { readonly key: string };

export const isStorable = (record: ReadRecord): record is KeyedRecord => record.key !== null;

/** Makes of a record what may be stored (privacy settings, forgotten people). */
export interface RecordProtection {
  /** Part of the checksums, because a checksum without it would confirm a guess of a protected value. */
  readonly secret: string;
  /** Returns a copy without protected values, or the record itself if it has none. */
  ofRecord(received: unknown): unknown;
  /** Names of fields that `ofRecord` drops although the service is not known to send them. */
  unknownIn(received: unknown): readonly string[];
}

interface RecordSource {
  readonly stream: StreamDefinition;
  readonly about: ReadContext;
  readonly ord?: number;
  readonly protection: RecordProtection | null;
}

export function toReadRecord(
  sent: Received,
  { stream, about, ord = 0, protection }: RecordSource,
): ReadRecord {
  let received = sent;
  let unknown: readonly string[] = [];
  if (protection !== null) {
    const value = sent.parse();
    const kept = protection.ofRecord(value);
    if (kept !== value) received = Received.of(kept);
    unknown = protection.unknownIn(value);
  }
  const taken = stream.takenFromRequest?.(received, about) ?? null;
  const others = [
    protection?.secret ?? '',
    taken === null ? '' : JSON.stringify(taken),
    unknown.length === 0 ? '' : JSON.stringify(unknown),
  ];
  // Nearly always the bytes alone, which are then not copied.
  const hashed = others.every((one) => one === '')
    ? received.bytes
    : Buffer.concat([Buffer.from(others.join(':')), received.bytes]);
  return {
    received,
    key: recordKey(received, stream.keyField),
    hash: stream.normalizerVersion.toString(16).padStart(2, '0') + hash('sha256', hashed, 'hex').slice(0, 30),
    about,
    ord,
    unknown,
  };
}

/** 128 bits of SHA-256, in the form of a uuid. */
export const toUuid = (text: string): string => {
  const hex = hash('sha256', text, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
};

/** An escaped NUL, or a surrogate, which may be unpaired. */
const UNSTORABLE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Error: `response_not_json`. */
export function parseRecord(stream: StreamDefinition, { received, key }: ReadRecord) {
  const text = received.text;
  const parsed = received.parse(text);
  const isRare = text.includes('\\u') && UNSTORABLE.test(text);
  const value = isRare ? toStorable(parsed) : parsed;
  return {
    /** With characters that PostgreSQL cannot store replaced. */
    value,
    /** JSON text of `value`; as received if PostgreSQL can store it. */
    text: isRare ? JSON.stringify(value) : text,
    /** The reason why the record cannot be a row; null: it can. */
    problem: recordProblem(stream, value, key),
  };
}

/** Replaces characters that PostgreSQL's text and jsonb cannot store by U+FFFD, in texts and in the names of fields. */
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toStorable);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [toStorableText(name), toStorable(inner)]),
  );
}

function recordProblem(stream: StreamDefinition, value: unknown, key: string | null): string | null {
  if (!isWireRecord(value)) return 'the record is not an object';
  if (key !== null) return null;
  let why = 'it is absent';
  keyField.read(value[stream.keyField], (problem) => (why = problem));
  return `no usable ${stream.keyField}: ${why}`;
}

/** JSON that is already text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type PreparedRecord = ReturnType<typeof normalize>;

/**
 * The rows of a record without a problem, for each table, parents first. The parent's row also contains the loader's own
 * columns.
 */
export function normalize(stream: StreamDefinition, read: ReadRecord, addIssue: AddIssue = () => undefined) {
  const { value, text } = parseRecord(stream, read);
  const { parent, children } = stream.toRows(value as WireRecord, read.about, addIssue);
  for (const name of read.unknown) {
    const problem = 'the specification names no such field: it is not stored';
    addIssue({ kind: 'unknown_field', field: toStorableText(name), problem, value: null });
  }
  // Assigned in place, because a copy of the row costs as much as filling it.
  Object.assign(parent, { _hash: read.hash, _raw: new RawJson(text) });
  const { deletedColumn, changeTimeColumn } = stream;
  if (deletedColumn !== undefined) {
    const isDeleted = parent[deletedColumn] === true;
    // PostgreSQL reads `now` as the transaction's time.
    Object.assign(parent, { _deleted_at: isDeleted ? (parent[changeTimeColumn ?? ''] ?? 'now') : null });
  }
  return { read, parent, rows: [[parent], ...children] };
}
