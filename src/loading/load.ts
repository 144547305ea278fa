/** The load step: takes records as received, sends what is new or changed to the warehouse, merges on commit. */
import type { Transaction } from '../database/connection.ts';
import { isDataError } from '../database/database-error.ts';
import { createDirectLoad } from './direct-load.ts';
import type { StagedIssue } from './issue-sql.ts';
import type { OpenRejections } from '../database/issues.ts';
import type { KeylessMemory } from '../streams/state.ts';
import { type DeleteGuard, type Merged, mergeStaged } from './merge.ts';
import type { SnapshotScope } from './merge-sql.ts';
import { withSpan } from '../shared/with-span.ts';
import { addCounts, noCounts, type RecordCounts } from '../database/record-counts.ts';
import type { Staging, StreamShape } from './staging.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { ReadContext } from '../streams/stream.ts';
import { identify, toIdentity } from './identify.ts';
import { buildRejection } from './normalize.ts';
import {
  type DirectBatch,
  prepareBatch,
  type PreparedBatch,
  type PreparedRecord,
  type ReadRecord,
} from './prepare-batch.ts';

/** Records that are compared and sent together: enough to make a round trip cheap, few enough to stay small in memory. */
const BATCH_RECORDS = 2000;
/** New records that wait in memory for their commit; with more, all of them go over the staging tables. */
export const MOST_HELD = 4000;

/** For spans. */
export function countAttributes(counts: Readonly<RecordCounts>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [`safety_sync.records.${name}`, count]),
  );
}

export interface LoaderOptions {
  readonly session: StreamSession;
  readonly staging: Staging;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  readonly guard: DeleteGuard;
  /** Send unchanged records too, since what is stored of them may have been changed behind our back. */
  readonly distrustsHashes: boolean;
  readonly openRejections: OpenRejections;
  /** What the last complete read knew of records without a key. */
  readonly keyless: KeylessMemory | null;
}

export interface CommitOptions {
  /** What a complete snapshot covered; null deletes nothing. */
  readonly covered: SnapshotScope | null;
  /** More will be committed in this run: a crash of PostgreSQL itself may lose it, as a whole. */
  readonly isCheckpoint?: boolean;
  /**
   * Runs in the same transaction, with the run's counts up to and including this commit; once more, in another
   * transaction, when PostgreSQL refuses the first.
   */
  readonly finish: (
    tx: Transaction,
    counts: Readonly<RecordCounts>,
    remarks: Pick<Merged, 'note' | 'failure'>,
  ) => Promise<void>;
}

export interface Loader {
  /** Takes records over; resolves when there is room for more. */
  add(records: readonly unknown[], context: ReadContext): Promise<void>;
  /** Begins to work on records that `take` adds later, while something else may still be committed. */
  prepare(records: readonly unknown[], context: ReadContext): Preparation;
  /** Adds what was prepared. One at a time. */
  take(preparation: Preparation): Promise<void>;
  /** A point to come back to when an answer breaks in the middle. */
  mark(): Promise<Mark>;
  /** Forgets everything that was added after the mark. */
  rewind(mark: Mark): Promise<void>;
  /** Keys of the live rows of the scope that were not among what was added. */
  findVanished(scope: SnapshotScope): Promise<Set<string>>;
  /** Resolves when nothing is on its way to the database, however that ended. */
  idle(): Promise<void>;
  /** Merges everything that was added, in one transaction. */
  commit(options: CommitOptions): Promise<RecordCounts>;
}

export interface Mark {
  readonly ord: number;
  readonly counts: Readonly<RecordCounts>;
}

export interface Preparation {
  readonly batch: readonly ReadRecord[];
  readonly prepared: Promise<PreparedBatch>;
  /** How many preparations had been taken when this one began. */
  readonly begun: number;
}

export function createLoader(options: LoaderOptions): Loader {
  const { staging, shape } = options;
  const directLoad = createDirectLoad(options);
  const preparing = { ...options, directLoad };
  const about = { 'safety_sync.account': options.accountId, 'safety_sync.stream': shape.stream.name };
  const counts = noCounts();
  const repairedIdentities = new Set<string>();
  const repairedKeys = new Set<string>();
  let nextOrd = 1;
  let hasCommitted = false;
  let buffer: ReadRecord[] = [];
  /** The batch that is on its way while the next one is being read. */
  let working: Promise<void> = Promise.resolve();
  /** New records without issues, which go straight to their tables when they are committed. */
  let held: DirectBatch[] = [];
  /** Since the last commit there was more than could be held. */
  let hasSpilled = false;
  /** Since the last commit something was sent to the staging tables. */
  let hasStaged = false;
  const waiting = new Set<Preparation>();
  /** The keys that were taken while others were being prepared, by the number of the preparation. */
  const taken = new Map<number, ReadonlySet<string>>();
  let takes = 0;

  const toRead = (received: unknown, context: ReadContext): ReadRecord => ({
    identified: identify(shape.stream, received, context),
    context,
    ord: nextOrd++,
  });

  async function accept(batch: PreparedBatch): Promise<void> {
    addCounts(counts, batch.counts);
    for (const identity of batch.repaired.identities) repairedIdentities.add(identity);
    for (const key of batch.repaired.keys) repairedKeys.add(key);
    if (batch.direct !== null) {
      held.push(batch.direct);
      if (hasSpilled || countHeld() > MOST_HELD) await spill();
    }
    await send(batch.records, batch.issues);
  }

  const countHeld = () => held.reduce((sum, { rows }) => sum + rows.count, 0);

  /** What was held goes the way of all others. */
  async function spill(): Promise<void> {
    const spilled = held;
    held = [];
    hasSpilled = true;
    for (const batch of spilled) await send(batch.restore(), []);
  }

  /** To the staging tables. */
  async function send(records: readonly PreparedRecord[], issues: readonly StagedIssue[]): Promise<void> {
    if (records.length === 0 && issues.length === 0) return;
    hasStaged = true;
    const refused = new Map<number, unknown>();
    await staging.write(
      records.map(({ staged }) => staged),
      (record, error) => refused.set(record.ord, error),
    );
    const rejections: StagedIssue[] = [];
    for (const { read } of refused.size > 0 ? records : []) {
      const { identified, ord } = read;
      if (!refused.has(ord)) continue;
      const problem = `PostgreSQL cannot store it: ${(refused.get(ord) as Error).message}`;
      rejections.push(
        buildRejection({ stream: shape.stream, ...read, identified: { ...identified, problem } }),
      );
    }
    counts.rejected += rejections.length;
    const kept = issues.filter((issue) => !issue.of_row || !refused.has(issue.ord));
    await staging.writeIssues([...kept, ...rejections]);
  }

  async function flush(): Promise<void> {
    await working;
    if (buffer.length === 0) return;
    const batch = buffer;
    buffer = [];
    working = prepareBatch(batch, preparing).then(accept);
    // A failure is met at the next await of `working`; until then it must not count as unhandled.
    working.catch(() => undefined);
  }

  async function settle(): Promise<void> {
    await flush();
    await working;
  }

  /** Something that was stored since it was compared is among it. */
  function isStale({ batch, begun }: Preparation): boolean {
    return [...taken].some(
      ([number, keys]) => number >= begun && batch.some(({ identified }) => keys.has(identified.key ?? '')),
    );
  }

  /** Keys are remembered as long as something is being prepared that began before they were taken. */
  function noteTaken({ batch }: Preparation): void {
    taken.set(takes, new Set(batch.flatMap(({ identified }) => identified.key ?? [])));
    takes += 1;
    const oldest = Math.min(takes, ...[...waiting].map(({ begun }) => begun));
    for (const number of taken.keys()) if (number < oldest) taken.delete(number);
  }

  async function store({ covered, isCheckpoint = false, finish }: CommitOptions): Promise<void> {
    await options.session.transaction(
      async (tx) => {
        const total = { ...counts };
        let remarks: Pick<Merged, 'note' | 'failure'> = { note: null, failure: null };
        if (hasStaged || covered !== null || repairedIdentities.size + repairedKeys.size > 0) {
          const merged = await mergeStaged(tx, shape, {
            accountId: options.accountId,
            runId: options.runId,
            covered,
            guard: options.guard,
            distrustsHashes: options.distrustsHashes,
            hasCommitted,
            repairedIdentities: [...repairedIdentities],
            repairedKeys: [...repairedKeys],
            rejected: counts.rejected,
            direct: countHeld(),
            keyless: options.keyless,
            identityOf: toIdentity,
          });
          remarks = merged;
          addCounts(total, merged.counts);
        }
        const { inserted, settled } = await directLoad.store(
          tx,
          held.map(({ rows }) => rows),
        );
        total.inserted += inserted;
        await Promise.all([settled, finish(tx, total, remarks)]);
        if (hasStaged || covered !== null) await staging.clear(tx);
        Object.assign(counts, total);
      },
      { isLasting: !isCheckpoint },
    );
  }

  return {
    async add(records, context) {
      for (const received of records) {
        buffer.push(toRead(received, context));
        if (buffer.length >= BATCH_RECORDS) await flush();
      }
    },
    prepare(records, context) {
      const batch = records.map((received) => toRead(received, context));
      const preparation: Preparation = { batch, prepared: prepareBatch(batch, preparing), begun: takes };
      preparation.prepared.catch(() => undefined);
      waiting.add(preparation);
      return preparation;
    },
    async take(preparation) {
      // What it asked may have met a transaction that PostgreSQL had given up.
      const prepared = await preparation.prepared.catch(() => undefined);
      waiting.delete(preparation);
      const isUsable = prepared !== undefined && !isStale(preparation);
      noteTaken(preparation);
      await accept(isUsable ? prepared : await prepareBatch(preparation.batch, preparing));
    },
    async mark() {
      await settle();
      return { ord: nextOrd, counts: { ...counts } };
    },
    async rewind(mark) {
      buffer = [];
      await working;
      held = held.filter(({ firstOrd }) => firstOrd < mark.ord);
      if (nextOrd !== mark.ord) await staging.discardFrom(mark.ord);
      Object.assign(counts, mark.counts);
    },
    async idle() {
      await Promise.allSettled([working, ...[...waiting].map(({ prepared }) => prepared)]);
    },
    async findVanished(scope) {
      await settle();
      return await staging.findVanished(scope);
    },
    async commit(commit) {
      await settle();
      await withSpan('store', about, async (span) => {
        try {
          await store(commit);
        } catch (error) {
          if (held.length === 0 || !isDataError(error)) throw error;
          // One of them is there already, or cannot be stored: the staging tables find out which.
          await spill();
          await store(commit);
        }
        span.setAttributes(countAttributes(counts));
      });
      held = [];
      hasSpilled = false;
      hasStaged = false;
      hasCommitted = true;
      return { ...counts };
    },
  };
}
