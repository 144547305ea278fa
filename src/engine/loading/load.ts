/**
 * Takes received records and stores those that differ from the warehouse. New ones are copied into their tables at once;
 * changed ones into staging tables, which the merge empties at the commit.
 *
 * A batch is open while it takes records. A full batch is prepared and then stored, in the order of the batches. Some
 * batches are prepared while another one is stored or committed. The transaction is begun by the first batch, and ended by the
 * merge of its stored batches.
 */
import { addCounts, noCounts, type RecordCounts } from '../control-tables/runs.ts';
import { recordUsers } from '../control-tables/user-lookups.ts';
import type { TransactionTime } from '../database/sql-names.ts';
import { ignoreRejection } from '../../shared/errors.ts';
import type { Received } from '../../shared/received.ts';
import { withSpan } from '../../shared/with-span.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';
import { recordKey } from '../streams/wire.ts';
import { createBatches, type Prepared } from './batch.ts';
import type { LoadOptions } from './load-options.ts';
import { createMerge, type Merged } from './merge.ts';
import { countRows } from './merge-sql.ts';
import { toReadRecord, type ReadRecord } from './record.ts';
import { countListed, findVanished, openStaging } from './staging.ts';

/** Enough to make a round trip and a COPY cheap, few enough to stay small in memory. */
export const BATCH_RECORDS = 2500;
/** A batch of large records is full at this number of bytes. */
const BATCH_BYTES = 4 * 1024 * 1024;
/**
 * Number of batches that are prepared or wait for the one that is being stored, at most: no more are prepared in that time.
 */
const MOST_AHEAD = 2;

interface CommitOptions {
  /** The coverage of a complete read; with null no rows are deleted. */
  readonly covered: Coverage | null;
  /** Runs in the same transaction, with the run's counts up to and including this commit, and the transaction's time. */
  readonly beforeCommit: (
    counts: Readonly<RecordCounts>,
    merged: Merged,
    time: TransactionTime,
  ) => Promise<void>;
}

export type Load = Awaited<ReturnType<typeof createLoad>>;

export async function createLoad(options: LoadOptions) {
  const { session, shape, accountId, runId, protection } = options;
  const { stream } = shape;
  const { db } = session.connection;
  const spanAttributes = { 'safety_sync.account': accountId, 'safety_sync.stream': stream.name };
  await openStaging(db, shape);
  // Before the first change of the run, because later nothing shows which rows are new.
  const counted = await db.execute<Record<'rows' | 'live' | 'uncertain', number>>(
    countRows(shape.parent, accountId),
  );
  const [before = { rows: 0, live: 0, uncertain: 0 }] = counted;
  const hadRows = before.rows > 0;
  const batches = createBatches(options, hadRows);
  const merge = createMerge(options, batches, before);

  let nextOrd = 1;
  /** The open batch. */
  let open: ReadRecord[] = [];
  let openBytes = 0;
  /**
   * Keys of the batches that are not stored yet. No key is in two of them, so a comparison does not depend on the batches
   * before it.
   */
  const keysAhead = new Set<string>();
  const ahead: Promise<void>[] = [];
  /** Work for the database, in order. After a failure no further work runs, and every promise fails with it. */
  let queue: Promise<void> = Promise.resolve();
  let committing = queue;
  let uncommitted = 0;
  /** Texts of the records without a usable key: each is rejected once, however often it is read. */
  const keyless = new Set<string>();
  const committed = noCounts();
  /** The batches of the open transaction. */
  let stored: Prepared[] = [];

  /** Resolves when this work and all earlier work is complete. */
  function enqueue(work: () => Promise<void>): Promise<void> {
    queue = ignoreRejection(queue.then(work));
    return queue;
  }

  /** Closes the open batch: it is prepared, and stored after the batches before it. */
  async function closeBatch(): Promise<void> {
    if (open.length === 0) return;
    const records = open;
    open = [];
    openBytes = 0;
    if (records.some(({ key }) => key !== null && keysAhead.has(key))) await queue;
    for (const { key } of records) if (key !== null) keysAhead.add(key);
    const preparing = ignoreRejection(batches.prepare(records));
    ahead.push(enqueue(() => storeBatch(records, preparing)));
    if (ahead.length > MOST_AHEAD) await ahead.shift();
  }

  async function storeBatch(records: readonly ReadRecord[], preparing: Promise<Prepared>): Promise<void> {
    await session.begin();
    // Preparing fails while the transaction is in an error state: then it is repeated. A second failure is thrown.
    const prepared = await preparing.catch(() => batches.prepare(records));
    stored.push(await batches.store(prepared));
    for (const { key } of records) keysAhead.delete(key ?? '');
  }

  async function storeCommit({ covered, beforeCommit }: CommitOptions): Promise<void> {
    const time = await session.begin();
    const counts = { ...committed };
    for (const one of stored) addCounts(counts, one.counts);
    const staged = stored.flatMap(({ changed }) => changed.records);
    const merged = await merge({
      ...{ ...time, accountId, runId, stream: stream.name },
      ...{ staged, covered, keyless: keyless.size, deletedBefore: committed.deleted },
    });
    addCounts(counts, merged.counts);
    await beforeCommit(counts, merged, time);
    // This step is last, because a stream that records the same new id waits for it until the commit.
    await recordUsers(db, [...new Set(stored.flatMap(({ userIds }) => [...userIds]))], accountId);
    await session.commit();
    Object.assign(committed, counts);
    stored = [];
    batches.forgetStaged();
  }

  /** Stores everything that was added. */
  async function drain(): Promise<void> {
    await closeBatch();
    await queue;
  }

  /** Merges and commits everything that was added. Resolves when the commit has begun: records may be added meanwhile. */
  async function beginCommit(commit: CommitOptions): Promise<void> {
    await closeBatch();
    await committing;
    uncommitted = 0;
    committing = enqueue(() => withSpan('store', spanAttributes, () => storeCommit(commit)));
  }

  return {
    /** The account's rows before the load; without any no keys are recorded. */
    before,
    /** Resolves when there is room for more. */
    async add(records: readonly Received[], about: ReadContext): Promise<void> {
      uncommitted += records.length;
      for (const received of records) {
        const read = toReadRecord(received, { stream, about, ord: nextOrd++, protection });
        if (read.key === null && keyless.size === keyless.add(read.received.text).size) continue;
        open.push(read);
        openBytes += read.received.length;
        if (open.length >= BATCH_RECORDS || openBytes >= BATCH_BYTES) await closeBatch();
      }
    },
    /** Keys of the live rows in the coverage that were not added. */
    async findVanished(covered: Coverage): Promise<Set<string>> {
      await drain();
      return hadRows ? await findVanished(db, shape, { covered, accountId }) : new Set();
    },
    /** Whether each of these records has a live row; one without a usable key never has one. */
    async areStored(records: readonly Received[]): Promise<boolean> {
      await drain();
      const keys = new Set(records.map((one) => recordKey(one, stream.keyField)));
      return !keys.has(null) && (await countListed(db, shape, accountId, [...keys])) === keys.size;
    },
    /** Records that were added since the last commit was requested. */
    get uncommitted() {
      return uncommitted;
    },
    beginCommit,
    /** Like `beginCommit`, but resolves when the commit is complete. */
    async commit(commit: CommitOptions): Promise<void> {
      await beginCommit(commit);
      await committing;
    },
    /** Counts of all commits. */
    committed: committed as Readonly<RecordCounts>,
    /** Rolls back uncommitted records, and goes on. */
    async discard(): Promise<void> {
      await drain();
      await session.rollback();
      stored = [];
      uncommitted = 0;
      keyless.clear();
      batches.forgetStaged();
    },
    /** Rolls back uncommitted records. Resolves when no work is being sent to the database, also after a failure. */
    async abort(): Promise<void> {
      await Promise.allSettled([queue]);
      await session.rollback();
    },
  };
}
