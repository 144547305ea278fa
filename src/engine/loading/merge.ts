/**
 * Runs the merge of one stream inside the run's transaction: changed rows, deletions, data issues. New rows were copied
 * before (copy-records.ts).
 */
import { sql } from 'drizzle-orm';
import { formatNumber } from '../../shared/format.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { clearHashOfDrifted } from './drift-sql.ts';
import * as history from '../history/history-sql.ts';
import { recordCompletions } from '../history/completions.ts';
import * as issues from './issue-sql.ts';
import * as statements from './merge-sql.ts';
import type { Batches } from './batch.ts';
import type { LoadOptions } from './load-options.ts';
import type { ReadRecord } from './record.ts';
import { clearStaging, findVanished, refusalOf } from './staging.ts';
import type { RunKey, StreamKey } from '../control-tables/control-tables.ts';
import { addCounts, noCounts, type RecordCounts } from '../control-tables/runs.ts';
import type { TransactionTime } from '../database/sql-names.ts';
import type { Coverage } from '../streams/stream.ts';

/** Below this number of live rows a share is not meaningful. */
const GUARD_FROM_ROWS = 20;

interface MergeRequest extends StreamKey, RunKey, TransactionTime {
  readonly staged: readonly ReadRecord[];
  /** The coverage of a complete snapshot; null when nothing may be deleted. */
  readonly covered: Coverage | null;
  /** Records without a usable key that the run has received: any row may be one of them. */
  readonly keyless: number;
  /** Rows that the run has marked as deleted until now. */
  readonly deletedBefore: number;
}

export type Merged = Awaited<ReturnType<ReturnType<typeof createMerge>>>;

type PartitionCounts = Readonly<{ partition: string; live: number; vanished: number }>;

/** `before`: the account's rows before the run. */
export function createMerge(
  { session, shape, accountId, fullCompare, maxDeleteRatio }: LoadOptions,
  { stage, refuse }: Pick<Batches, 'stage' | 'refuse'>,
  before: Readonly<Record<'rows' | 'live', number>>,
) {
  const { connection } = session;
  const { db } = connection;
  const { stream, parent, children } = shape;

  const isTooMuch = ({ live, vanished }: Omit<PartitionCounts, 'partition'>): boolean =>
    live >= GUARD_FROM_ROWS && vanished / live > maxDeleteRatio;

  const toGuardError = (found: string): SafetySyncError =>
    new SafetySyncError('delete_guard', `${found}, more than MAX_DELETE_RATIO (${maxDeleteRatio}) allows`);

  const describeMissing = (partitions: readonly PartitionCounts[]): string =>
    partitions
      .map(({ partition, live, vanished }) => {
        const response = partition === '' ? 'the response' : `the response for ${partition}`;
        return `${response} lacks ${vanished} of ${live} live rows`;
      })
      .join('; ');

  /** Fails a run in which too many rows turn deleted, whether they are sent so or are missing, and in whichever of its commits. */
  function guardTurned(count: number, { deletedBefore }: MergeRequest): void {
    const all = count + deletedBefore;
    if (parent.deletedColumn !== null && count > 0 && isTooMuch({ live: before.live, vanished: all }))
      throw toGuardError(`${all} of ${before.live} live rows turn deleted in this run`);
  }

  /**
   * Determines the deletions that are allowed. A partition that lacks too much is left unchanged, because the other
   * partitions may be correct; if it is the only one, or all together lack too much, the snapshot is refused. `deletable`
   * null: there are no rows to delete.
   */
  async function guardDeletions(covered: Coverage | null, request: MergeRequest) {
    // Nearly always nothing has vanished, which is found out faster than how much has.
    const mayVanish = covered !== null && before.live > 0;
    if (!mayVanish || (await findVanished(db, shape, { covered, accountId })).size === 0)
      return { deletable: null, vanished: 0, failure: null };
    const found: readonly PartitionCounts[] = await db.execute<PartitionCounts>(
      statements.countVanished(shape, covered, request),
    );
    const refused = found.filter(isTooMuch);
    const others = found.filter((one) => !isTooMuch(one));
    const total = (of: 'live' | 'vanished') => others.reduce((sum, one) => sum + one[of], 0);
    const all = { partition: '', live: total('live'), vanished: total('vanished') };
    const failure = refused.length === 0 ? null : toGuardError(describeMissing(refused));
    if (failure !== null && others.length === 0) throw failure;
    if (isTooMuch(all)) throw toGuardError(describeMissing([all]));
    guardTurned(all.vanished, request);
    if (all.vanished === 0) return { deletable: null, vanished: 0, failure };
    const partitions = covered.partitions && others.map(({ partition }) => partition);
    return { deletable: { ...covered, partitions }, vanished: all.vanished, failure };
  }

  async function mergeRows(request: MergeRequest): Promise<RecordCounts> {
    const counts = noCounts();
    for (const table of fullCompare ? [parent, ...children] : [parent])
      await db.execute(sql.raw(`analyze pg_temp.${table.stage}`));
    const older = await db.execute<{ ord: number }>(statements.dropOlderCopies(shape, request));
    await db.execute(issues.dropReplaced(parent, older));
    let dropped = older.length;
    // The kept fields of a person do not show whether a field was dropped.
    if (stream.personal === undefined) await db.execute(statements.takeStoredHashes(shape, accountId));
    if (fullCompare) await db.execute(clearHashOfDrifted(shape, accountId));
    dropped += (await db.execute(statements.dropUnchanged(parent, accountId))).count;
    if (dropped > 0) {
      for (const child of children) await db.execute(statements.dropOrphans(parent, child));
    }
    for (const child of children) {
      if (child.history !== null) await db.execute(history.endChildStates(parent, child, request));
    }
    if (parent.deletedColumn !== null) {
      const [turning] = await db.execute<{ count: number }>(statements.countTurning(parent, request));
      counts.deleted = turning?.count ?? 0;
      guardTurned(counts.deleted, request);
    }
    const [written] = await db.execute<Record<'staged' | 'inserted' | 'updated', number>>(
      statements.upsertParents(parent, request),
    );
    const { staged, inserted, updated } = written ?? { staged: 0, inserted: 0, updated: 0 };
    counts.inserted = inserted;
    counts.updated = updated - counts.deleted;
    counts.unchanged = dropped + staged - inserted - updated;
    for (const child of children) {
      // Children with a history were already deleted by endChildStates.
      if (updated > 0 && child.history === null)
        await db.execute(statements.deleteStaleChildren(parent, child, request));
      await db.execute(statements.upsertChildren(parent, child, request));
    }
    const stagedKeys = request.staged.flatMap(({ key }) => key ?? []);
    await recordCompletions(db, shape, { accountId, stagedKeys });
    return counts;
  }

  /** A record that PostgreSQL refuses, for example in an index made by hand, costs only itself. Halving finds it. */
  async function mergeStaged(request: MergeRequest): Promise<RecordCounts> {
    const { staged } = request;
    const [first] = staged;
    let counts = noCounts();
    if (first === undefined) return counts;
    const refusal = await refusalOf(connection, async () => {
      counts = await mergeRows(request);
    });
    if (refusal === null) return counts;
    if (staged.length === 1) {
      await refuse(first, refusal);
      return { ...noCounts(), rejected: 1 };
    }
    const middle = Math.ceil(staged.length / 2);
    for (const half of [staged.slice(0, middle), staged.slice(middle)]) {
      await clearStaging(db, shape);
      await stage(half);
      addCounts(counts, await mergeStaged({ ...request, staged: half }));
    }
    return counts;
  }

  /**
   * Merges the staged rows, marks rows that a complete snapshot did not show as deleted, and updates the data issues. Counts
   * updated and deleted rows; `unchanged` counts staged copies that were not needed.
   */
  return async (request: MergeRequest) => {
    const { keyless } = request;
    const covered = keyless > 0 ? null : request.covered;
    const { deletable, vanished, failure } = await guardDeletions(covered, request);
    const counts = await mergeStaged({ ...request, deletedBefore: request.deletedBefore + vanished });
    const deleted =
      deletable === null
        ? []
        : await db.execute<{ key: string }>(statements.markVanished(shape, deletable, request));
    counts.deleted += deleted.length;
    if (before.rows > 0 && covered?.partitions === null && parent.deletedColumn !== null)
      await db.execute(statements.endSentAsDeleted(parent, parent.deletedColumn, request));
    const deletedKeys = deleted.map(({ key }) => key);
    await db.execute(issues.recordIssues(request));
    await db.execute(issues.resolveIssues(parent, { ...request, fullCompare, deletedKeys }));
    const doubt = `nothing was marked deleted, because ${formatNumber(keyless, 'record')} without a usable key may be any of the rows (safety-sync data-issues)`;
    return {
      counts,
      /** A remark for the result of the run. */
      note: request.covered !== null && keyless > 0 ? doubt : null,
      /** Partitions of the snapshot without any deletion, because too much was missing; the rest is stored. */
      failure,
    };
  };
}
