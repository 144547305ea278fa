/** Records of a batch: which of them are news to the warehouse, and what their rows are. Writes nothing but the keys seen. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseExactJson } from '../shared/exact-json.ts';
import { RawJson } from '../database/copy-text.ts';
import type { DirectLoad, DirectRows } from './direct-load.ts';
import type { StagedIssue } from './issue-sql.ts';
import type { OpenRejections } from '../database/issues.ts';
import { noCounts, type RecordCounts } from '../database/record-counts.ts';
import type { StagedRecord, Staging, StreamShape } from './staging.ts';
import type { ReadContext, StreamDefinition, WireRecord } from '../streams/stream.ts';
import { type IdentifiedRecord, identityOf } from './identify.ts';
import { buildRejection, normalize } from './normalize.ts';

/** Normalized without a pause: PostgreSQL, which may be waiting for our next word, is not kept waiting for long. */
const RECORDS_OF_A_TURN = 100;

/** A record as it was read, with its number in the run. */
export interface ReadRecord {
  readonly identified: IdentifiedRecord;
  readonly context: ReadContext;
  readonly ord: number;
}

/** One that can be a row. */
type KeyedRecord = ReadRecord & { readonly identified: { readonly key: string } };

export interface PreparedRecord {
  readonly read: ReadRecord;
  readonly staged: StagedRecord;
}

/** New records without issues, as text: their objects need not wait for the commit. */
export interface DirectBatch {
  /** Number of its first record in the run. */
  readonly firstOrd: number;
  readonly rows: DirectRows;
  /** Makes them records again, for the way over the staging tables. */
  restore(): PreparedRecord[];
}

export interface PreparedBatch {
  /** What goes over the staging tables. */
  readonly records: readonly PreparedRecord[];
  readonly direct: DirectBatch | null;
  readonly issues: readonly StagedIssue[];
  /** read, unchanged and rejected. */
  readonly counts: Readonly<RecordCounts>;
  /** What closes open issues about records that could not be rows. */
  readonly repaired: Repaired;
}

export interface Repaired {
  /** Identities that came with a key. */
  readonly identities: readonly string[];
  /** Keys whose records came as they are stored. */
  readonly keys: readonly string[];
}

export interface PrepareOptions {
  readonly staging: Staging;
  readonly shape: StreamShape;
  readonly directLoad: DirectLoad;
  /** Unchanged records are rows too, since what is stored of them may have been changed behind our back. */
  readonly distrustsHashes: boolean;
  readonly openRejections: OpenRejections;
}

const isStorable = (record: ReadRecord): record is KeyedRecord => record.identified.problem === null;

/**
 * One version of each record, the newest as the merge has it: by the source's own time, then by the order of reading.
 * Were they compared with the warehouse one by one, the stored version would count as unchanged and the others as
 * changes, so that every run would exchange them.
 */
function newestOfEach(stream: StreamDefinition, records: KeyedRecord[]): KeyedRecord[] {
  const kept = new Map<string, KeyedRecord>();
  for (const record of records) {
    const before = kept.get(record.identified.key);
    const isNewer =
      before === undefined ||
      before.identified.hash === record.identified.hash ||
      versionOf(stream, record) >= versionOf(stream, before);
    if (isNewer) kept.set(record.identified.key, record);
  }
  return kept.size === records.length
    ? records
    : records.filter((record) => kept.get(record.identified.key) === record);
}

/** Records that cannot be rows, but are there: what is stored of them is not gone. */
function onlySeen(batch: readonly ReadRecord[], distinct: readonly KeyedRecord[]): KeyedRecord[] {
  if (batch.every(isStorable)) return [];
  const keys = new Set(distinct.map(({ identified }) => identified.key));
  return batch.filter(
    (record): record is KeyedRecord =>
      !isStorable(record) && record.identified.key !== null && !keys.has(record.identified.key),
  );
}

/** ms; without a version all are of one age. */
function versionOf(stream: StreamDefinition, record: KeyedRecord): number {
  if (stream.versionColumn === null) return 0;
  const version = normalize({ stream, ...record }).parent[stream.versionColumn];
  return typeof version === 'string' ? Date.parse(version) : -Infinity;
}

function toPrepared(
  stream: StreamDefinition,
  read: ReadRecord,
  isNew: boolean,
): { readonly prepared: PreparedRecord; readonly issues: readonly StagedIssue[] } {
  const { identified, ord } = read;
  const { parent, children, issues } = normalize({ stream, ...read });
  // Added in place: the row was made for this, and copying it costs as much as filling it.
  const row = Object.assign(parent, { _hash: identified.hash, _raw: new RawJson(identified.text) });
  return { prepared: { read, staged: { ord, isNew, parent: row, children } }, issues };
}

function toDirectBatch(
  records: readonly PreparedRecord[],
  { stream, directLoad }: { readonly stream: StreamDefinition; readonly directLoad: DirectLoad },
): DirectBatch | null {
  const [first] = records;
  if (first === undefined) return null;
  const rows = directLoad.toRows(records.map(({ staged }) => staged));
  const kept = records.map(({ read: { identified, context, ord } }) => {
    const { key, hash, text } = identified;
    return { key, hash, text, context, ord };
  });
  const whole = { problem: null, isShortened: false, isKeyAltered: false };
  return {
    firstOrd: first.read.ord,
    rows,
    restore: () =>
      kept.map(({ context, ord, ...identity }) => {
        const record = parseExactJson(identity.text) as WireRecord;
        const read = { identified: { ...identity, ...whole, record }, context, ord };
        return toPrepared(stream, read, true).prepared;
      }),
  };
}

export async function prepareBatch(
  batch: readonly ReadRecord[],
  { staging, shape, directLoad, distrustsHashes, openRejections }: PrepareOptions,
): Promise<PreparedBatch> {
  const { stream } = shape;
  const counts = { ...noCounts(), read: batch.length };
  const storable = batch.filter(isStorable);
  const issues: StagedIssue[] = [];
  if (storable.length < batch.length) {
    for (const record of batch) if (!isStorable(record)) issues.push(buildRejection({ stream, ...record }));
    counts.rejected = batch.length - storable.length;
  }
  const distinct = newestOfEach(stream, storable);
  counts.unchanged = storable.length - distinct.length;
  // The first record of the batch stands for the number of the keys seen.
  const standings = await staging.compare(
    [...distinct, ...onlySeen(batch, distinct)].map(({ identified: { key, hash } }) => ({ key, hash })),
    batch[0]?.ord ?? 0,
  );
  const records: PreparedRecord[] = [];
  const direct: PreparedRecord[] = [];
  const repaired = { identities: [] as string[], keys: [] as string[] };
  for (const [index, read] of distinct.entries()) {
    if (index % RECORDS_OF_A_TURN === RECORDS_OF_A_TURN - 1) await nextTurn();
    const standing = standings[index] ?? 'changed';
    if (standing === 'unchanged' && !distrustsHashes) {
      counts.unchanged += 1;
      if (openRejections.keys.has(read.identified.key)) repaired.keys.push(read.identified.key);
      continue;
    }
    const { prepared, issues: found } = toPrepared(stream, read, standing === 'new');
    for (const issue of found) issues.push(issue);
    const goesDirectly =
      standing === 'new' && !distrustsHashes && found.length === 0 && directLoad.suits(prepared.staged);
    (goesDirectly ? direct : records).push(prepared);
    // A record that was stored before is another one: follow-ups of one form response share their identity.
    if (standing !== 'new' || openRejections.identities.size === 0) continue;
    const identity = identityOf(stream, read.identified.record);
    if (identity !== null && openRejections.identities.has(identity)) repaired.identities.push(identity);
  }
  return { records, direct: toDirectBatch(direct, { stream, directLoad }), issues, counts, repaired };
}
