/**
 * Takes records as received and stores what is news to the warehouse: identify, compare, normalize, COPY; merge on commit.
 *
 * Everything happens in one open transaction, begun by the first record after a commit. A batch is compared and its rows are
 * made while the batch before it is being stored; no more than these two are on their way.
 */
import type { OpenIssues } from '../database/issues.ts';
import { addCounts, countAttributes, noCounts, type RecordCounts } from '../database/record-counts.ts';
import type { StreamSession } from '../database/stream-session.ts';
import { recordUsers } from '../database/user-lookups.ts';
import { withSpan } from '../shared/with-span.ts';
import type { KeylessMemory } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';
import { createComparison } from './compare.ts';
import { createRecordCopies, type RefusedRecord } from './copy-records.ts';
import { identify, toIdentity } from './identify.ts';
import { type DeleteGuard, type Merged, merge } from './merge.ts';
import { buildRejection, type StagedIssue } from './normalize.ts';
import { copyOf, nothingPending, type Pending } from './pending.ts';
import { prepareBatch, type PreparedBatch } from './prepare-batch.ts';
import type { PreparedRecord, ReadRecord } from './prepared-record.ts';
import { createStaging } from './staging.ts';
import { type StreamShape, toSnapshotScope } from './stream-shape.ts';
import { takeOutOlder } from './supersede.ts';

/** Records that are compared and sent together: enough to make a round trip cheap, few enough to stay small in memory. */
const BATCH_RECORDS = 2000;

export interface LoadOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  readonly guard: DeleteGuard;
  /** Compare unchanged records column by column too, since what is stored of them may have been changed behind our back. */
  readonly fullCompare: boolean;
  /** Remember the keys of everything that comes, to find what was deleted. */
  readonly tracksSeen: boolean;
  readonly openIssues: OpenIssues;
  /** What the last complete read knew of records without a key. */
  readonly keyless: KeylessMemory | null;
}

export interface CommitOptions {
  /** What was read completely; null deletes nothing. */
  readonly covered: Coverage | null;
  /** More will be committed in this run: a crash of PostgreSQL itself may lose it, as a whole. */
  readonly isLast: boolean;
  /** Runs in the same transaction, with the run's counts up to and including this commit. */
  readonly finish: (counts: Readonly<RecordCounts>, merged: Merged) => Promise<void>;
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
  const { session, shape, accountId, openIssues } = options;
  const { stream } = shape;
  const scope = { accountId, runId: options.runId };
  const spanAttributes = { 'safety_sync.account': accountId, 'safety_sync.stream': stream.name };
  const staging = createStaging(session, shape, accountId);
  const copies = createRecordCopies(session, shape, scope);
  const preparing = { ...options, compare: createComparison(session, shape, scope) };
  await staging.open();

  const committed = noCounts();
  let hasCommitted = false;
  let hadIssues = openIssues.areAny;
  let nextOrd = 1;
  let buffer: ReadRecord[] = [];
  /** The time of the open transaction; undefined: none is open. */
  let now: string | undefined;
  let pending = nothingPending();
  /** What was pending at the savepoint; undefined: there is none. */
  let saved: Pending | undefined;
  /** A commit was asked for: what comes now belongs to the next transaction. */
  let isClosing = false;
  /** The batch or the commit that is on its way while the next batch is prepared. */
  let storing: Promise<void> = Promise.resolve();
  /** Keys of new records of the batch that was stored last. */
  let lastAdded: ReadonlySet<string> = new Set();

  async function begin(): Promise<string> {
    now ??= (await session.begin()).now;
    return now;
  }

  async function flush(): Promise<void> {
    if (buffer.length === 0) return;
    const batch = buffer;
    buffer = [];
    if (isClosing) await storing;
    isClosing = false;
    const began = await begin();
    const prepared = prepare(batch, began);
    // A failure is met when the batch is stored; until then it must not count as unhandled.
    prepared.catch(() => undefined);
    await storing;
    storing = store(batch, { prepared, began, into: pending });
    storing.catch(() => undefined);
  }

  async function drain(): Promise<void> {
    await flush();
    await storing;
    isClosing = false;
  }

  const prepare = (batch: readonly ReadRecord[], began: string): Promise<PreparedBatch> =>
    prepareBatch(batch, { ...preparing, toInsertText: (records) => copies.toInsertText(records, began) });

  async function store(
    batch: readonly ReadRecord[],
    { prepared, began, into }: { prepared: Promise<PreparedBatch>; began: string; into: Pending },
  ): Promise<void> {
    // Compared too early if the batch ahead has stored one of its keys, or if PostgreSQL had refused some of that batch just
    // then: it is compared again, and a failure that lasts is thrown.
    const early = await prepared.catch(() => undefined);
    const isCurrent = early !== undefined && !early.seen.some((key) => lastAdded.has(key));
    await write(isCurrent ? early : await prepare(batch, began), { began, into });
  }

  async function write(
    batch: PreparedBatch,
    { began, into }: { began: string; into: Pending },
  ): Promise<void> {
    const marked = options.tracksSeen ? staging.markSeen(batch.seen, batch.firstOrd) : undefined;
    // Its failure is met below, or is that of whatever fails before; until then it must not count as unhandled.
    marked?.catch(() => undefined);
    const again = await takeOutOlder(session, { shape, scope, records: batch.again });
    if (again.length > 0) await staging.dropIssues(again.map(({ read }) => read.identified.key ?? ''));
    const refusedAdded = await copies.insert(batch.added);
    if (again.length > 0) refusedAdded.push(...(await copies.insert(copies.toInsertText(again, began))));
    const refused = [...refusedAdded, ...(await copies.stage(batch.changed))];
    await marked;
    await writeIssues(batch.issues, refused, into);
    const added = [...batch.added.records, ...again];
    lastAdded = new Set(added.map(({ read }) => read.identified.key ?? ''));
    addCounts(into.counts, batch.counts);
    const news = batch.added.records.length + batch.added.refused.length;
    into.counts.inserted += news - refusedAdded.length;
    // Of two versions in one transaction one was not needed: the other counts as inserted.
    into.counts.unchanged += batch.again.length;
    into.counts.rejected += refused.length;
    into.staged += batch.changed.length;
    for (const id of batch.userIds) into.userIds.add(id);
    for (const identity of batch.repaired.identities) into.repairedIdentities.add(identity);
    for (const key of batch.repaired.keys) into.repairedKeys.add(key);
  }

  async function writeIssues(
    issues: readonly StagedIssue[],
    refused: readonly RefusedRecord[],
    into: Pending,
  ): Promise<void> {
    const ords = new Set(refused.map(({ record }) => record.read.ord));
    const rejections = refused.map(({ record, error }) => toRejection(record, error));
    const all = [...issues.filter(({ of_row, ord }) => !of_row || !ords.has(ord)), ...rejections];
    into.issues += all.length;
    await staging.writeIssues(all);
  }

  function toRejection({ read }: PreparedRecord, error: Error): StagedIssue {
    const problem = `PostgreSQL cannot store it: ${error.message}`;
    return buildRejection({ stream, ...read, identified: { ...read.identified, problem } });
  }

  async function commit({ covered, isLast, finish }: CommitOptions, closing: Pending): Promise<void> {
    await begin();
    const { db } = session.connection;
    hadIssues ||= closing.issues > 0;
    const merged = await merge(db, shape, {
      ...scope,
      covered: covered === null ? null : toSnapshotScope(stream, covered),
      guard: options.guard,
      fullCompare: options.fullCompare,
      hasCommitted,
      hasIssues: hadIssues,
      repairedIdentities: [...closing.repairedIdentities],
      repairedKeys: [...closing.repairedKeys],
      rejected: committed.rejected + closing.counts.rejected,
      added: closing.counts.inserted,
      staged: closing.staged,
      keyless: options.keyless,
      identityOf: toIdentity,
    });
    const counts = { ...committed };
    addCounts(counts, closing.counts);
    addCounts(counts, merged.counts);
    await finish(counts, merged);
    if (!isLast && (closing.staged > 0 || closing.issues > 0 || options.tracksSeen)) await staging.clear(db);
    // Last, because streams of one account wait for each other here until they have committed.
    await recordUsers(db, [...closing.userIds], accountId);
    await session.commit({ isDurable: isLast });
    Object.assign(committed, counts);
    hasCommitted = true;
    now = undefined;
  }

  /** What was added before is stored and committed; what is added afterwards goes into the next transaction. */
  async function beginCommit(options: CommitOptions): Promise<void> {
    await flush();
    const closing = pending;
    pending = nothingPending();
    saved = undefined;
    isClosing = true;
    const before = storing;
    storing = withSpan('store', spanAttributes, async (span) => {
      await before;
      await commit(options, closing);
      span.setAttributes(countAttributes(committed));
    });
    storing.catch(() => undefined);
  }

  return {
    async add(records, about) {
      pending.records += records.length;
      for (const received of records) {
        buffer.push({ identified: identify(stream, received, about), about, ord: nextOrd++ });
        if (buffer.length >= BATCH_RECORDS) await flush();
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
      await storing;
      if (saved === undefined) throw new TypeError('there is no savepoint');
      if (pending.records === saved.records) return;
      await session.connection.query('rollback to savepoint part');
      pending = copyOf(saved);
      lastAdded = new Set();
    },
    async findVanished(covered) {
      await drain();
      return await staging.findVanished(toSnapshotScope(stream, covered));
    },
    get uncommitted() {
      return pending.records;
    },
    beginCommit,
    async commit(options) {
      await beginCommit(options);
      await storing;
      return { ...committed };
    },
    get committed() {
      return committed;
    },
    async abort() {
      await Promise.allSettled([storing]);
      if (now !== undefined) await session.rollback();
    },
  };
}
