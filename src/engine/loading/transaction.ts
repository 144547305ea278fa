/** The open transaction of a load: begun by the first batch, ended by the merge of its stored batches. */
import { addCounts, noCounts, type RecordCounts } from '../control-tables/record-counts.ts';
import type { WriteTime } from '../database/sql-names.ts';
import { recordUsers } from '../control-tables/user-lookups.ts';
import type { Coverage } from '../streams/stream.ts';
import type { Batches, Stored } from './batch.ts';
import type { LoadOptions } from './load-options.ts';
import { type Merged, merge } from './merge.ts';
import { countLive } from './merge-sql.ts';
import { clearStaging } from './staging.ts';

export interface CommitOptions {
  /** The coverage of a complete read; with null no rows are deleted. */
  readonly covered: Coverage | null;
  /** False: the commit as a whole may be lost when PostgreSQL itself crashes. */
  readonly isLast: boolean;
  /** Runs in the same transaction, with the run's counts up to and including this commit, and the transaction's time. */
  readonly beforeCommit: (counts: Readonly<RecordCounts>, merged: Merged, time: WriteTime) => Promise<void>;
}

export function createTransaction(options: LoadOptions, batches: Batches) {
  const { session, accountId, shape } = options;
  const { connection } = session;
  const { db } = connection;
  const committed = noCounts();
  let hasIssues = options.openIssues.areAny;
  let stored: Stored[] = [];

  let liveBefore: number | undefined;

  /** Begins the transaction unless it is open. */
  async function begin(): Promise<WriteTime> {
    return session.transactionTime ?? (await session.begin());
  }

  /** Begins it for rows. Live rows are counted before the first change of the run, because later nothing shows which are new. */
  async function beginRows(): Promise<void> {
    await begin();
    if (shape.parent.deletedColumn === null || liveBefore !== undefined) return;
    const [row] = await db.execute<{ count: number }>(countLive(shape.parent, accountId));
    liveBefore = row?.count ?? 0;
  }

  return {
    begin,
    beginRows,
    add: (batch: Stored) => {
      stored.push(batch);
    },
    async commit({ covered, isLast, beforeCommit }: CommitOptions, keyless: number): Promise<void> {
      const time = await begin();
      const counts = { ...committed };
      for (const one of stored) addCounts(counts, one.counts);
      const hasStagedIssues = stored.some((one) => one.hasIssues);
      hasIssues ||= hasStagedIssues;
      const staged = stored.flatMap((one) => one.staged);
      const merged = await merge(db, shape, {
        ...options,
        ...time,
        covered,
        keyless,
        hasIssues,
        resolvedKeys: [...new Set(stored.flatMap((one) => one.resolvedKeys))],
        staged,
        stage: batches.stage,
        refuse: batches.refuse,
        liveBefore: liveBefore ?? 0,
        deletedBefore: committed.deleted,
      });
      addCounts(counts, merged.counts);
      await beforeCommit(counts, merged, time);
      if (!isLast && (staged.length > 0 || hasStagedIssues)) await clearStaging(db, shape);
      // This step is last, because streams of one account wait for each other here until they have committed.
      await recordUsers(db, [...new Set(stored.flatMap(({ userIds }) => [...userIds]))], accountId);
      await session.commit({ isDurable: isLast });
      Object.assign(committed, counts);
      stored = [];
    },
    /** Counts of all commits. */
    committed: committed as Readonly<RecordCounts>,
    abort: () => session.rollback(),
  };
}
