/** Records of a chunk: which of them are news to the warehouse, and what their rows are. Writes nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { OpenIssues } from '../database/issues.ts';
import { addCounts, noCounts, type RecordCounts } from '../database/record-counts.ts';
import { isPseudonym } from '../shared/pseudonym.ts';
import type { Row, StreamDefinition } from '../streams/stream.ts';
import { msOfInstant } from '../streams/time-text.ts';
import { identityOf, type KeyedRecord, type ReadRecord } from './identify.ts';
import { normalize, parsedOf, type PreparedRecord, releaseParsed } from './normalize.ts';
import { buildRejection, type StagedIssue } from './staged-issue.ts';
import { collectUnknownFields } from './unknown-fields.ts';
import type { ChangeStatus, Comparison } from './compare.ts';
import { type CopyText, joinTexts, type RecordCopies } from './copy-records.ts';
import type { StreamShape } from '../database/table-shape.ts';

/** Normalized without a pause: PostgreSQL, which may be waiting for our next word, is not kept waiting for long. */
const RECORDS_OF_A_TURN = 100;

/** One chunk at a time: each blocks the event loop, and PostgreSQL waits for us meanwhile. */
const oneAtATime = pLimit(1);

/** What is to be stored of the records of a chunk, of a part of one, or of several. */
export interface Prepared {
  /** Keys of everything that came, also of what cannot be a row: the warehouse has seen them. */
  readonly seen: readonly string[];
  /** The number of the first record. */
  readonly firstOrd: number;
  /** The warehouse has no row with their keys. */
  readonly added: CopyText;
  /** The warehouse has another version of them. */
  readonly changed: CopyText;
  /** This transaction has stored another version of them. */
  readonly repeated: readonly PreparedRecord[];
  readonly issues: readonly StagedIssue[];
  /** In the rows. */
  readonly userIds: ReadonlySet<string>;
  /** read, unchanged and rejected. */
  readonly counts: Readonly<RecordCounts>;
  /** What closes open issues about records that could not be rows. */
  readonly resolved: Resolved;
}

interface Resolved {
  /** Identities that came with a key. */
  readonly identities: readonly string[];
  /** Keys whose records came as they are stored. */
  readonly keys: readonly string[];
}

interface PrepareOptions {
  readonly compare: Comparison;
  readonly render: RecordCopies['render'];
  readonly shape: StreamShape;
  /** Unchanged records are rows too, since what is stored of them may have been changed behind our back. */
  readonly fullCompare: boolean;
  readonly openIssues: OpenIssues;
  /** Fingerprints of unknown fields that have an issue of their own. */
  readonly listed: Set<string>;
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
function onlySeen(chunk: readonly ReadRecord[], distinct: readonly KeyedRecord[]): string[] {
  if (chunk.every(isStorable)) return [];
  const keys = new Set(distinct.map(({ identified }) => identified.key));
  return chunk.flatMap((record) => {
    const { key } = record.identified;
    return isStorable(record) || key === null || keys.has(key) ? [] : [key];
  });
}

/** ms; without a version all are of one age. */
function versionOf(stream: StreamDefinition, record: KeyedRecord): number {
  if (stream.versionColumn === null) return 0;
  const version = normalize({ stream, ...record }).parent[stream.versionColumn];
  return typeof version === 'string' ? msOfInstant(version) : -Infinity;
}

/** Nobody can be asked who is behind a pseudonym. */
function add(id: string, into: Set<string>): void {
  if (!isPseudonym(id)) into.add(id);
}

/** Adds the user ids in rows of one table. */
function collectUserIds(rows: readonly Row[], columns: readonly string[], into: Set<string>): void {
  for (const row of rows) {
    for (const column of columns) {
      const value = row[column];
      if (typeof value === 'string') add(value, into);
      else if (Array.isArray(value)) for (const one of value) add(String(one), into);
    }
  }
}

/** A record of which rows are to be made. */
interface Compared {
  readonly read: KeyedRecord;
  readonly status: ChangeStatus;
}

/** Asks how each record compares with the warehouse, and makes rows of those that are not as they are stored. */
export async function prepareChunk(chunk: readonly ReadRecord[], options: PrepareOptions): Promise<Prepared> {
  const { stream } = options.shape;
  const storable = chunk.filter(isStorable);
  const distinct = newestOfEach(stream, storable);
  const statuses = await options.compare(distinct.map(({ identified }) => identified));
  const news: Compared[] = [];
  const resolvedKeys: string[] = [];
  for (const [index, read] of distinct.entries()) {
    const status = statuses[index] ?? 'changed';
    if (status !== 'unchanged' || options.fullCompare) {
      news.push({ read, status });
      continue;
    }
    const { key } = read.identified;
    if (options.openIssues.keys.has(key)) resolvedKeys.push(key);
    releaseParsed(read);
  }
  return await oneAtATime(async () => {
    const turns = [prepareTurn(news.slice(0, RECORDS_OF_A_TURN), options)];
    for (let at = RECORDS_OF_A_TURN; at < news.length; at += RECORDS_OF_A_TURN) {
      await nextTurn();
      turns.push(prepareTurn(news.slice(at, at + RECORDS_OF_A_TURN), options));
    }
    const prepared = joinPrepared(turns);
    const issues = chunk.flatMap((record) =>
      isStorable(record) ? [] : [buildRejection({ stream, ...record })],
    );
    return {
      ...prepared,
      seen: [...distinct.map(({ identified }) => identified.key), ...onlySeen(chunk, distinct)],
      firstOrd: chunk[0]?.ord ?? 0,
      issues: [...issues, ...prepared.issues],
      counts: {
        ...prepared.counts,
        read: chunk.length,
        unchanged: storable.length - news.length,
        rejected: chunk.length - storable.length,
      },
      resolved: { ...prepared.resolved, keys: resolvedKeys },
    };
  });
}

/** In one go. The keys differ. Without what is said of the whole chunk. */
function prepareTurn(
  records: readonly Compared[],
  { render, shape, openIssues, listed }: PrepareOptions,
): Prepared {
  const { stream, parent, children } = shape;
  const unknownFields = collectUnknownFields(listed);
  const issues: StagedIssue[] = [];
  const rows = {
    added: [] as PreparedRecord[],
    changed: [] as PreparedRecord[],
    repeated: [] as PreparedRecord[],
  };
  const identities: string[] = [];
  const userIds = new Set<string>();
  const userIdColumns = [parent, ...children].map(({ table }) =>
    stream.userIdColumns.flatMap((one) => (one.table === table ? [one.column] : [])),
  );
  for (const { read, status } of records) {
    const { identified } = read;
    const { issues: found, ...rowsOfRecord } = normalize({ stream, ...read });
    for (const issue of found) {
      if (issue.kind === 'unknown_field') unknownFields.add(issue);
      else issues.push(issue);
    }
    for (const [position, columns] of userIdColumns.entries()) {
      if (columns.length === 0) continue;
      const ofTable = position === 0 ? [rowsOfRecord.parent] : (rowsOfRecord.children[position - 1] ?? []);
      collectUserIds(ofTable, columns, userIds);
    }
    rows[status === 'unchanged' ? 'changed' : status].push({ read, ...rowsOfRecord });
    // A record that was stored before is another one: follow-ups of one form response share their identity.
    if (status !== 'added' || openIssues.identities.size === 0) continue;
    const identity = identityOf(stream, parsedOf(identified));
    if (identity !== null && openIssues.identities.has(identity)) identities.push(identity);
  }
  return {
    seen: [],
    firstOrd: 0,
    added: render(rows.added, 'tables'),
    changed: render(rows.changed, 'stages'),
    repeated: rows.repeated,
    issues: [...issues, ...unknownFields.issues],
    userIds,
    counts: noCounts(),
    resolved: { identities, keys: [] },
  };
}

/** Of records that are no more than once among them, in their order, as one. */
export function joinPrepared(pieces: readonly Prepared[]): Prepared {
  const counts = noCounts();
  for (const piece of pieces) addCounts(counts, piece.counts);
  return {
    seen: pieces.flatMap(({ seen }) => seen),
    firstOrd: pieces[0]?.firstOrd ?? 0,
    added: joinTexts(pieces.map(({ added }) => added)),
    changed: joinTexts(pieces.map(({ changed }) => changed)),
    repeated: pieces.flatMap(({ repeated }) => repeated),
    issues: pieces.flatMap(({ issues }) => issues),
    userIds: new Set(pieces.flatMap(({ userIds }) => [...userIds])),
    counts,
    resolved: {
      identities: pieces.flatMap(({ resolved }) => resolved.identities),
      keys: pieces.flatMap(({ resolved }) => resolved.keys),
    },
  };
}
