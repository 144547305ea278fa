/** Records of a batch: which of them are news to the warehouse, and what their rows are. Writes nothing but the keys seen. */
import { RawJson } from '../warehouse/copy-text.ts';
import type { StagedIssue } from '../warehouse/issue-sql.ts';
import { noCounts, type RecordCounts } from '../warehouse/record-counts.ts';
import type { StagedRecord, Staging, StreamShape } from '../warehouse/staging.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';
import { type IdentifiedRecord, identityOf } from './identify.ts';
import { buildRejection, normalize } from './normalize.ts';

/** A record as it was read, with its number in the run. */
export interface ReadRecord {
  readonly identified: IdentifiedRecord;
  readonly context: ReadContext;
  readonly ord: number;
}

type KeyedRecord = ReadRecord & { readonly identified: { readonly key: string } };

export interface PreparedRecord {
  readonly read: ReadRecord;
  readonly staged: StagedRecord;
  /** The record has issues of its own. */
  readonly hasIssues: boolean;
}

export interface PreparedBatch {
  readonly records: readonly PreparedRecord[];
  readonly issues: readonly StagedIssue[];
  /** read, unchanged and rejected. */
  readonly counts: Readonly<RecordCounts>;
  /** Open identities that came with a key. */
  readonly repaired: readonly string[];
}

export interface PrepareOptions {
  readonly staging: Staging;
  readonly shape: StreamShape;
  /** Unchanged records are rows too, since what is stored of them may have been changed behind our back. */
  readonly distrustsHashes: boolean;
  /** Identities of open issues about records without a key. */
  readonly openIdentities: ReadonlySet<string>;
}

const isKeyed = (record: ReadRecord): record is KeyedRecord => record.identified.key !== null;

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

/** ms; without a version all are of one age. */
function versionOf(stream: StreamDefinition, record: KeyedRecord): number {
  if (stream.versionColumn === null) return 0;
  const version = normalize({ stream, ...record }).parent[stream.versionColumn];
  return typeof version === 'string' ? Date.parse(version) : -Infinity;
}

export async function prepareBatch(
  batch: readonly ReadRecord[],
  { staging, shape, distrustsHashes, openIdentities }: PrepareOptions,
): Promise<PreparedBatch> {
  const { stream } = shape;
  const counts = { ...noCounts(), read: batch.length };
  const keyed = batch.filter(isKeyed);
  const issues: StagedIssue[] = [];
  if (keyed.length < batch.length) {
    for (const record of batch) if (!isKeyed(record)) issues.push(buildRejection({ stream, ...record }));
    counts.rejected = batch.length - keyed.length;
  }
  const distinct = newestOfEach(stream, keyed);
  counts.unchanged = keyed.length - distinct.length;
  // The first record of the batch stands for the number of the keys seen.
  const standings = await staging.compare(
    distinct.map(({ identified: { key, hash } }) => ({ key, hash })),
    batch[0]?.ord ?? 0,
  );
  const records: PreparedRecord[] = [];
  const repaired: string[] = [];
  for (const [index, read] of distinct.entries()) {
    const standing = standings[index] ?? 'changed';
    if (standing === 'unchanged' && !distrustsHashes) {
      counts.unchanged += 1;
      continue;
    }
    const { identified, ord } = read;
    const normalized = normalize({ stream, ...read });
    for (const issue of normalized.issues) issues.push(issue);
    const staged: StagedRecord = {
      ord,
      isNew: standing === 'new',
      parent: { ...normalized.parent, _hash: identified.hash, _raw: new RawJson(identified.text) },
      children: normalized.children,
    };
    records.push({ read, staged, hasIssues: normalized.issues.length > 0 });
    // A record that was stored before is another one: follow-ups of one form response share their identity.
    if (standing !== 'new' || openIdentities.size === 0) continue;
    const identity = identityOf(stream, identified.record);
    if (identity !== null && openIdentities.has(identity)) repaired.push(identity);
  }
  return { records, issues, counts, repaired };
}
