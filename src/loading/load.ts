/**
 * Takes records as received and stores what is news to the warehouse: identify, compare, normalize, COPY; merge on commit.
 *
 * Everything is stored in one open transaction, begun by the first batch after a commit. Chunks are compared and their rows
 * are made while a batch is being stored or committed, a bounded number of records ahead of it.
 */
import type { OpenIssues } from '../database/issues.ts';
import { addCounts, countAttributes, noCounts, type RecordCounts } from '../database/record-counts.ts';
import type { Lifted } from '../database/privacy.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { WriteTime } from '../database/sql-names.ts';
import { recordUsers } from '../database/user-lookups.ts';
import { meetLater } from '../shared/meet-later.ts';
import { withSpan } from '../shared/with-span.ts';
import type { KeylessMemory } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';
import { createComparison } from './compare.ts';
import { createRecordCopies } from './copy-records.ts';
import { identify, type ReadRecord, toIdentity } from './identify.ts';
import { type DeleteGuard, type Merged, merge } from './merge.ts';
import { type Chunk, copyOf, nothingPending, type Pending } from './pending.ts';
import type { Protection } from './protect.ts';
import { joinPrepared, type Prepared, prepareChunk } from './prepare-chunk.ts';
import { createSerialQueue } from './serial-queue.ts';
import { createStaging } from './staging.ts';
import { type StreamShape, toTableCoverage } from '../database/table-shape.ts';
import { createBatchWriter } from './write-batch.ts';

/** Records that are compared together: enough to make a round trip cheap, few enough that the next ones need not wait long. */
const CHUNK_RECORDS = 500;
/** Records that are stored together, at least: enough to make a COPY cheap, few enough to stay small in memory. */
const BATCH_RECORDS = 2000;
/** Records that wait while the batch before them is stored, at most: more than are prepared in that time. */
const MOST_AHEAD = 4000;

interface LoadOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  /** Before anything else is done with a record; null: everything may be stored. */
  readonly protection: Pick<Protection, 'ofRecord'> | null;
  readonly guard: DeleteGuard;
  /** Compare unchanged records column by column too, since what is stored of them may have been changed behind our back. */
  readonly fullCompare: boolean;
  /** Remember the keys of everything that comes, to find what was deleted. */
  readonly tracksSeen: boolean;
  readonly openIssues: OpenIssues;
  /** What the last complete read knew of records without a key. */
  readonly keyless: KeylessMemory | null;
  /** Columns that rows may lack because they were protected. */
  readonly lifted: Lifted;
}

export interface CommitOptions {
  /** What was read completely; null deletes nothing. */
  readonly covered: Coverage | null;
  /** More will be committed in this run: a crash of PostgreSQL itself may lose it, as a whole. */
  readonly isLast: boolean;
  /** Runs in the same transaction, with the run's counts up to and including this commit, and the transaction's time. */
  readonly beforeCommit: (counts: Readonly<RecordCounts>, merged: Merged, time: WriteTime) => Promise<void>;
}

export interface Load {
  /** Takes records over; resolves when there is room for more. */
  add(records: readonly unknown[], about: ReadContext): Promise<void>;
  /** What follows may be taken back by `rollback`. Replaces the savepoint before. */
  savepoint(): Promise<void>;
  /** Takes back everything that was added after the savepoint, which stays. */
  rollback(): Promise<void>;
  /** Keys of the live rows of what was covered that were not among what was added. */
  findVanished(covered: Coverage): Promise<Set<string>>;
  /** Nothing is on its way to the database. */
  readonly isIdle: boolean;
  /** Records that were added since the last commit was asked for. */
  readonly uncommitted: number;
  /** Merges and commits everything that was added. Resolves when that is on its way: more may be added meanwhile. */
  beginCommit(options: CommitOptions): Promise<void>;
  /** The same. Resolves with the run's counts when it is done. */
  commit(options: CommitOptions): Promise<RecordCounts>;
  /** What was committed so far. */
  readonly committed: Readonly<RecordCounts>;
  /** Gives up what was not committed. Resolves when nothing is on its way to the database, however that ended. */
  abort(): Promise<void>;
}

export async function createLoad(options: LoadOptions): Promise<Load> {
  const { session, shape, accountId, openIssues, protection } = options;
  const { stream } = shape;
  const scope = { accountId, runId: options.runId };
  const spanAttributes = { 'safety_sync.account': accountId, 'safety_sync.stream': stream.name };
  const staging = createStaging(session, shape, accountId);
  const copies = createRecordCopies(session, shape, scope);
  const write = createBatchWriter({ ...options, scope, staging, copies });
  const preparing = {
    ...options,
    compare: createComparison(session, shape, scope),
    render: copies.render,
    listed: new Set(openIssues.unknownFields),
  };
  await staging.open();

  const committed = noCounts();
  let hasCommitted = false;
  let hadIssues = openIssues.areAny;
  let nextOrd = 1;
  let buffer: ReadRecord[] = [];
  /** Keys of all records that are on their way. None is in two chunks: a comparison need not know what is ahead of it. */
  const keysUnderway = new Set<string>();
  /** What is on its way to the database. */
  const queue = createSerialQueue();
  /** The commit that was asked for last: no more than one is on its way. */
  let committing = queue.done;
  /** The number of the transaction that is open, or is next. */
  let transaction = 1;
  let isOpen = false;
  /** What was handed over since a commit was asked for. */
  let pending = nothingPending();
  /** What was pending at the savepoint; undefined: there is none. */
  let saved: Pending | undefined;

  const prepare = (chunk: readonly ReadRecord[]): Promise<Prepared> => prepareChunk(chunk, preparing);

  async function begin(): Promise<void> {
    if (isOpen) return;
    isOpen = true;
    await session.begin();
  }

  /** Begins to prepare what is buffered. */
  async function prepareNext(): Promise<void> {
    if (buffer.length === 0) return;
    const chunk = buffer;
    buffer = [];
    if (chunk.some(({ identified: { key } }) => key !== null && keysUnderway.has(key))) await drain();
    for (const { identified } of chunk) if (identified.key !== null) keysUnderway.add(identified.key);
    pending.ahead.push({ records: chunk, prepared: meetLater(prepare(chunk)), transaction });
  }

  /** Begins to store what is ahead if that is enough; resolves when there is room for more. */
  async function makeRoom(): Promise<void> {
    const waiting = pending.ahead.reduce((sum, { records }) => sum + records.length, 0);
    if (waiting >= BATCH_RECORDS) pending.turn ??= storeAhead();
    if (waiting >= MOST_AHEAD) await pending.turn;
  }

  /** Stores the chunks that are ahead when their turn comes; the promise that it returns tells when it does. */
  function storeAhead(): Promise<void> {
    const into = pending;
    const turn = queue.done;
    void queue.add(async () => {
      const chunks = into.ahead;
      into.ahead = [];
      into.turn = undefined;
      if (chunks.length > 0) await store(chunks, into);
    });
    return turn;
  }

  /** Stores everything that was added. */
  async function drain(): Promise<void> {
    await prepareNext();
    void storeAhead();
    await queue.done;
  }

  async function store(chunks: readonly Chunk[], into: Pending): Promise<void> {
    const begun = meetLater(begin());
    const prepared: Prepared[] = [];
    for (const chunk of chunks) {
      // Preparing may have failed because the transaction was in an error state, or what counted as stored by this
      // transaction was stored by one that has ended. Then it is prepared again; a second failure is thrown.
      const early = await chunk.prepared.catch(() => undefined);
      const isCurrent =
        early !== undefined && (early.repeated.length === 0 || chunk.transaction === transaction);
      prepared.push(isCurrent ? early : await prepare(chunk.records));
    }
    await begun;
    await write(joinPrepared(prepared), into);
    for (const { records } of chunks) {
      for (const { identified } of records) keysUnderway.delete(identified.key ?? '');
    }
  }

  async function commit({ covered, isLast, beforeCommit }: CommitOptions, closing: Pending): Promise<void> {
    await begin();
    const { db } = session.connection;
    hadIssues ||= closing.issues > 0;
    const time = session.transactionTime;
    if (time === null) throw new TypeError('there is no transaction');
    const merged = await merge(db, shape, {
      ...scope,
      ...time,
      covered: covered === null ? null : toTableCoverage(stream, covered),
      guard: options.guard,
      fullCompare: options.fullCompare,
      hasCommitted,
      hasIssues: hadIssues,
      resolvedIdentities: [...closing.resolvedIdentities],
      resolvedKeys: [...closing.resolvedKeys],
      rejected: committed.rejected + closing.counts.rejected,
      added: closing.counts.inserted,
      addedKeys: closing.addedKeys,
      staged: closing.staged,
      keyless: options.keyless,
      lifted: options.lifted,
      identityOf: toIdentity,
    });
    const counts = { ...committed };
    addCounts(counts, closing.counts);
    addCounts(counts, merged.counts);
    await beforeCommit(counts, merged, time);
    if (!isLast && (closing.staged > 0 || closing.issues > 0 || options.tracksSeen)) await staging.clear(db);
    // Last, because streams of one account wait for each other here until they have committed.
    await recordUsers(db, [...closing.userIds], accountId);
    await session.commit({ isDurable: isLast });
    Object.assign(committed, counts);
    hasCommitted = true;
    isOpen = false;
    transaction += 1;
  }

  /** What was added before is stored and committed; what is added afterwards goes into the next transaction. */
  async function beginCommit(options: CommitOptions): Promise<void> {
    await prepareNext();
    await committing;
    void storeAhead();
    const closing = pending;
    pending = nothingPending();
    saved = undefined;
    committing = queue.add(() =>
      withSpan('store', spanAttributes, async (span) => {
        await commit(options, closing);
        span.setAttributes(countAttributes(committed));
      }),
    );
  }

  return {
    async add(records, about) {
      pending.records += records.length;
      for (const received of records) {
        const kept = protection === null ? received : protection.ofRecord(received);
        buffer.push({ identified: identify(stream, kept, about), about, ord: nextOrd++ });
        if (buffer.length < CHUNK_RECORDS) continue;
        // Only now, so that what is left over when a commit is asked for is stored with the batch before it.
        await makeRoom();
        await prepareNext();
      }
    },
    async savepoint() {
      await drain();
      await begin();
      if (saved !== undefined) await session.connection.query('release savepoint part');
      await session.connection.query('savepoint part');
      saved = copyOf(pending);
    },
    async rollback() {
      buffer = [];
      pending.ahead = [];
      await queue.done;
      keysUnderway.clear();
      if (saved === undefined) throw new TypeError('there is no savepoint');
      if (pending.records === saved.records) return;
      await session.connection.query('rollback to savepoint part');
      pending = copyOf(saved);
    },
    async findVanished(covered) {
      await drain();
      return await staging.findVanished(toTableCoverage(stream, covered));
    },
    get isIdle() {
      return queue.isIdle;
    },
    get uncommitted() {
      return pending.records;
    },
    beginCommit,
    async commit(options) {
      await beginCommit(options);
      await committing;
      return { ...committed };
    },
    get committed() {
      return committed;
    },
    async abort() {
      await Promise.allSettled([queue.done, ...pending.ahead.map(({ prepared }) => prepared)]);
      if (isOpen) await session.rollback();
    },
  };
}
