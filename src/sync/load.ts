/** The load step: takes records as received, sends what is new or changed to the staging tables, merges on commit. */
import { RawJson } from '../warehouse/copy-text.ts';
import type { Transaction } from '../warehouse/connection.ts';
import type { StagedIssue } from '../warehouse/issue-sql.ts';
import { type DeleteGuard, mergeStaged } from '../warehouse/merge.ts';
import type { SnapshotScope } from '../warehouse/merge-sql.ts';
import { addCounts, noCounts, type RecordCounts } from '../warehouse/record-counts.ts';
import type { StagedRecord, Staging, StreamShape } from '../warehouse/staging.ts';
import type { StreamSession } from '../warehouse/stream-session.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';
import { identify, type IdentifiedRecord, identityOf } from './identify.ts';
import { buildRejection, normalize } from './normalize.ts';

/** Records that are compared and sent together: enough to make a round trip cheap, few enough to stay small in memory. */
const BATCH_RECORDS = 2000;

export interface LoaderOptions {
  readonly session: StreamSession;
  readonly staging: Staging;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  readonly guard: DeleteGuard;
  /** Send unchanged records too, since what is stored of them may have been changed behind our back. */
  readonly distrustsHashes: boolean;
  /** Identities of open issues about records without a key. */
  readonly openIdentities: ReadonlySet<string>;
}

export interface CommitOptions {
  /** What a complete snapshot covered; null deletes nothing. */
  readonly covered: SnapshotScope | null;
  /** Runs in the same transaction, with the run's counts up to and including this commit. */
  readonly finish: (tx: Transaction, counts: Readonly<RecordCounts>) => Promise<void>;
}

export interface Loader {
  /** Takes records over; resolves when there is room for more. */
  add(records: readonly unknown[], context: ReadContext): Promise<void>;
  /** A point to come back to when an answer breaks in the middle. */
  mark(): Promise<Mark>;
  /** Forgets everything that was added after the mark. */
  rewind(mark: Mark): Promise<void>;
  /** Keys of the live rows of the scope that were not among what was added. */
  findVanished(scope: SnapshotScope): Promise<Set<string>>;
  /** Merges everything that was added, in one transaction. */
  commit(options: CommitOptions): Promise<RecordCounts>;
}

export interface Mark {
  readonly ord: number;
  readonly counts: Readonly<RecordCounts>;
}

interface KeyedRecord {
  readonly identified: IdentifiedRecord & { readonly key: string };
  readonly context: ReadContext;
  readonly ord: number;
}

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

export function createLoader(options: LoaderOptions): Loader {
  const { staging, shape } = options;
  const counts = noCounts();
  const repaired = new Set<string>();
  let nextOrd = 1;
  let hasCommitted = false;
  let buffer: { identified: IdentifiedRecord; context: ReadContext }[] = [];
  /** The batch that is on its way while the next one is being read. */
  let working: Promise<void> = Promise.resolve();

  async function process(batch: typeof buffer, firstOrd: number): Promise<void> {
    const issues: StagedIssue[] = [];
    const storable: KeyedRecord[] = [];
    for (const [index, { identified, context }] of batch.entries()) {
      const ord = firstOrd + index;
      if (identified.key === null) {
        issues.push(buildRejection({ stream: shape.stream, identified, context, ord }));
        counts.rejected += 1;
      } else storable.push({ identified: { ...identified, key: identified.key }, context, ord });
    }
    const distinct = newestOfEach(shape.stream, storable);
    counts.unchanged += storable.length - distinct.length;
    // One record after the other within the batch: the first of them stands for the number of the keys seen.
    const standings = await staging.compare(
      distinct.map(({ identified: { key, hash } }) => ({ key, hash })),
      firstOrd,
    );
    const staged: StagedRecord[] = [];
    for (const [index, { identified, context, ord }] of distinct.entries()) {
      const standing = standings[index] ?? 'changed';
      if (standing === 'unchanged' && !options.distrustsHashes) {
        counts.unchanged += 1;
        continue;
      }
      const normalized = normalize({ stream: shape.stream, identified, context, ord });
      issues.push(...normalized.issues);
      staged.push({
        ord,
        isNew: standing === 'new',
        parent: { ...normalized.parent, _hash: identified.hash, _raw: new RawJson(identified.text) },
        children: normalized.children,
      });
      // A record that was stored before is another one: follow-ups of one form response share their identity.
      const mayBeRepaired = standing === 'new' && options.openIdentities.size > 0;
      const identity = mayBeRepaired ? identityOf(shape.stream, identified.record) : null;
      if (identity !== null && options.openIdentities.has(identity)) repaired.add(identity);
    }
    const refused = new Map<number, unknown>();
    await staging.write(staged, (record, error) => refused.set(record.ord, error));
    if (refused.size > 0) {
      for (const { identified, context, ord } of storable) {
        if (!refused.has(ord)) continue;
        const problem = `PostgreSQL cannot store it: ${(refused.get(ord) as Error).message}`;
        issues.push(
          buildRejection({ stream: shape.stream, identified: { ...identified, problem }, context, ord }),
        );
        counts.rejected += 1;
      }
    }
    await staging.writeIssues(issues.filter((issue) => !issue.of_row || !refused.has(issue.ord)));
  }

  async function flush(): Promise<void> {
    await working;
    if (buffer.length === 0) return;
    const batch = buffer;
    buffer = [];
    const firstOrd = nextOrd;
    nextOrd += batch.length;
    counts.read += batch.length;
    working = process(batch, firstOrd);
    // A failure is met at the next await of `working`; until then it must not count as unhandled.
    working.catch(() => undefined);
  }

  async function settle(): Promise<void> {
    await flush();
    await working;
  }

  return {
    async add(records, context) {
      for (const received of records) {
        buffer.push({ identified: identify(shape.stream, received), context });
        if (buffer.length >= BATCH_RECORDS) await flush();
      }
    },
    async mark() {
      await settle();
      return { ord: nextOrd, counts: { ...counts } };
    },
    async rewind(mark) {
      buffer = [];
      await working;
      if (nextOrd !== mark.ord) await staging.discardFrom(mark.ord);
      Object.assign(counts, mark.counts);
    },
    async findVanished(scope) {
      await settle();
      return await staging.findVanished(scope);
    },
    async commit({ covered, finish }) {
      await settle();
      await options.session.transaction(async (tx) => {
        const merged = await mergeStaged(tx, shape, {
          accountId: options.accountId,
          runId: options.runId,
          covered,
          guard: options.guard,
          distrustsHashes: options.distrustsHashes,
          hasCommitted,
          repaired: [...repaired],
        });
        const total = { ...counts };
        addCounts(total, merged);
        await finish(tx, total);
        await staging.clear(tx);
        Object.assign(counts, total);
      });
      hasCommitted = true;
      return { ...counts };
    },
  };
}
