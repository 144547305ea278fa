/**
 * Takes records as received, and stores those that are news to the warehouse: compare, normalize, COPY; merge on commit.
 *
 * A batch is open while it takes records. Full, it is prepared and then stored, in the order of the batches. Its transaction
 * begins with the first batch after a commit. Some batches are prepared while one is stored or committed.
 */
import type { OpenIssues } from '../database/issues.ts';
import { addCounts, countAttributes, noCounts, type RecordCounts } from '../database/record-counts.ts';
import type { Lifted } from '../database/privacy.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { WriteTime } from '../database/sql-names.ts';
import { type StreamShape, toTableCoverage } from '../database/table-shape.ts';
import { recordUsers } from '../database/user-lookups.ts';
import { meetLater } from '../shared/meet-later.ts';
import type { Received } from '../shared/received.ts';
import { withSpan } from '../shared/with-span.ts';
import type { KeylessMemory } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';
import { createBatches, type Prepared, type Stored } from './batch.ts';
import { createComparison } from './compare.ts';
import { createRecordCopies } from './copy-records.ts';
import { type DeleteGuard, type Merged, merge } from './merge.ts';
import type { Protection } from './protect.ts';
import { readRecord, type ReadRecord } from './record.ts';
import { createSerialQueue } from './serial-queue.ts';
import { createStaging } from './staging.ts';

/** Enough to make a round trip and a COPY cheap, few enough to stay small in memory. */
const BATCH_RECORDS = 1000;
/** Batches that are prepared or wait for the one that is stored, at most: more than are prepared in that time. */
const MOST_AHEAD = 4;

interface LoadOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  /** Applied before anything else is done with a record; null: everything may be stored. */
  readonly protection: Pick<Protection, 'ofRecord' | 'secret'> | null;
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
  add(records: readonly Received[], about: ReadContext): Promise<void>;
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
  const compare = createComparison(session, shape, accountId);
  const batches = createBatches({ ...options, compare, copies, staging });
  await staging.open();

  const committed = noCounts();
  let hasCommitted = false;
  let hadIssues = openIssues.areAny;
  let nextOrd = 1;
  /** The open batch. */
  let open: ReadRecord[] = [];
  /** Keys of the batches ahead. None is in two of them, so a comparison does not depend on the batches before it. */
  const keysAhead = new Set<string>();
  const ahead: Promise<void>[] = [];
  /** What is on its way to the database, in order. */
  const queue = createSerialQueue();
  let committing = queue.done;
  let isBegun = false;
  /** What the open transaction has stored. */
  let stored: Stored[] = [];
  let uncommitted = 0;
  /** At the savepoint. */
  let saved: { readonly stored: readonly Stored[]; readonly uncommitted: number } | undefined;

  async function begin(): Promise<void> {
    if (isBegun) return;
    isBegun = true;
    await session.begin();
  }

  /** Closes the open batch: it is prepared, and stored after the batches before it. */
  async function closeBatch(): Promise<void> {
    if (open.length === 0) return;
    const records = open;
    open = [];
    if (records.some(({ key }) => key !== null && keysAhead.has(key))) await queue.done;
    for (const { key } of records) if (key !== null) keysAhead.add(key);
    const preparing = meetLater(batches.prepare(records));
    ahead.push(queue.add(() => storeBatch(records, preparing)));
    if (ahead.length > MOST_AHEAD) await ahead.shift();
  }

  async function storeBatch(records: readonly ReadRecord[], preparing: Promise<Prepared>): Promise<void> {
    const begun = meetLater(begin());
    // Preparing fails while the transaction is in an error state: then it is repeated. A second failure is thrown.
    const prepared = await preparing.catch(() => batches.prepare(records));
    await begun;
    stored.push(await batches.store(prepared, records[0]?.ord ?? 0));
    for (const { key } of records) keysAhead.delete(key ?? '');
  }

  /** Stores everything that was added. */
  async function drain(): Promise<void> {
    await closeBatch();
    await queue.done;
  }

  async function commit({ covered, isLast, beforeCommit }: CommitOptions): Promise<void> {
    await begin();
    const { db } = session.connection;
    const closing = stored;
    const time = session.transactionTime;
    if (time === null) throw new TypeError('there is no transaction');
    const counts = { ...committed };
    for (const one of closing) addCounts(counts, one.counts);
    const hasIssues = closing.some(({ issues }) => issues > 0);
    const stagedKeys = closing.flatMap((one) => one.stagedKeys);
    hadIssues ||= hasIssues;
    const merged = await merge(db, shape, {
      ...options,
      ...time,
      covered: covered === null ? null : toTableCoverage(stream, covered),
      hasCommitted,
      hasIssues: hadIssues,
      resolvedIdentities: [...new Set(closing.flatMap((one) => one.resolvedIdentities))],
      resolvedKeys: [...new Set(closing.flatMap((one) => one.resolvedKeys))],
      rejected: counts.rejected,
      addedKeys: closing.flatMap((one) => one.addedKeys),
      stagedKeys,
    });
    addCounts(counts, merged.counts);
    await beforeCommit(counts, merged, time);
    if (!isLast && (stagedKeys.length > 0 || hasIssues || options.tracksSeen)) await staging.clear(db);
    // Last, because streams of one account wait for each other here until they have committed.
    await recordUsers(db, [...new Set(closing.flatMap(({ userIds }) => [...userIds]))], accountId);
    await session.commit({ isDurable: isLast });
    Object.assign(committed, counts);
    stored = [];
    hasCommitted = true;
    isBegun = false;
  }

  /** Records that are added afterwards go into the next transaction. */
  async function beginCommit(options: CommitOptions): Promise<void> {
    await closeBatch();
    await committing;
    uncommitted = 0;
    saved = undefined;
    committing = queue.add(() =>
      withSpan('store', spanAttributes, async (span) => {
        await commit(options);
        span.setAttributes(countAttributes(committed));
      }),
    );
  }

  return {
    async add(records, about) {
      uncommitted += records.length;
      for (const one of records) {
        let received = one;
        if (protection !== null) {
          const value = one.parse();
          const kept = protection.ofRecord(value);
          if (kept !== value) received = one.replace(kept);
        }
        open.push(readRecord(received, { stream, about, ord: nextOrd++, secret: protection?.secret ?? '' }));
        if (open.length >= BATCH_RECORDS) await closeBatch();
      }
    },
    async savepoint() {
      await drain();
      await begin();
      if (saved !== undefined) await session.connection.query('release savepoint part');
      await session.connection.query('savepoint part');
      saved = { stored: [...stored], uncommitted };
    },
    async rollback() {
      open = [];
      await queue.done;
      if (saved === undefined) throw new TypeError('there is no savepoint');
      if (uncommitted === saved.uncommitted) return;
      await session.connection.query('rollback to savepoint part');
      stored = [...saved.stored];
      uncommitted = saved.uncommitted;
    },
    async findVanished(covered) {
      await drain();
      return await staging.findVanished(toTableCoverage(stream, covered));
    },
    get isIdle() {
      return queue.isIdle;
    },
    get uncommitted() {
      return uncommitted;
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
      await Promise.allSettled([queue.done]);
      if (isBegun) await session.rollback();
    },
  };
}
