/**
 * Runs the merge of one stream inside the run's transaction: changed rows, deletions, data issues. New rows were copied
 * before (copy-records.ts).
 */
import { sql } from 'drizzle-orm';
import { formatNumber } from '../../shared/format.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import type { Queryable } from '../database/connection.ts';
import { isDataError } from '../database/database-error.ts';
import { clearHashOfDrifted } from './drift-sql.ts';
import * as history from '../history/history-sql.ts';
import { recordCompletions } from '../history/completions.ts';
import * as issues from './issue-sql.ts';
import * as statements from './merge-sql.ts';
import type { Batches } from './batch.ts';
import type { LoadOptions } from './load-options.ts';
import type { ReadRecord } from './record.ts';
import { clearStaged } from './staging.ts';
import { addCounts, noCounts, type RecordCounts } from '../control-tables/record-counts.ts';
import type { WriteTime } from '../database/sql-names.ts';
import type { StreamShape, TableShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';

/** Below this number of live rows a share is not meaningful. */
const GUARD_FROM_ROWS = 20;

interface MergeRequest extends LoadOptions, WriteTime, Pick<Batches, 'stage' | 'refuse'> {
  readonly staged: readonly ReadRecord[];
  /** Keys of records that arrived as they are stored and close an open issue. */
  readonly resolvedKeys: readonly string[];
  /** The coverage of a complete snapshot; null when nothing may be deleted. */
  readonly covered: Coverage | null;
  /** Records without a usable key that the run has received: any row may be one of them. */
  readonly keyless: number;
  /** Live rows before the run, and those of them that its earlier commits have marked as deleted. */
  readonly liveBefore: number;
  readonly deletedBefore: number;
  /** The stream has open issues, or may have. */
  readonly hasIssues: boolean;
}

export interface Merged {
  readonly counts: RecordCounts;
  /** A remark for the result of the run. */
  readonly note: string | null;
  /** Partitions of the snapshot without any deletion, because too much was missing; the rest is stored. */
  readonly failure: SafetySyncError | null;
}

type PartitionCounts = Readonly<{ partition: string; live: number; vanished: number }>;

type Guard = LoadOptions['guard'];

const isTooMuch = (
  { live, vanished }: Pick<PartitionCounts, 'live' | 'vanished'>,
  { maxRatio, allowMassDelete }: Guard,
): boolean => !allowMassDelete && live >= GUARD_FROM_ROWS && vanished / live > maxRatio;

const beyond = ({ maxRatio }: Guard): string => `more than MAX_DELETE_RATIO (${maxRatio}) allows`;

/**
 * Determines the deletions that are allowed. A partition that lacks too much is left unchanged, because the other
 * partitions may be correct; if it is the only one, or all together lack too much, the snapshot is refused. `deletable` null:
 * there are no rows to delete.
 */
async function guardDeletions(
  tx: Queryable,
  shape: StreamShape,
  request: MergeRequest,
): Promise<Pick<Merged, 'failure'> & { readonly deletable: Coverage | null }> {
  const { covered, guard } = request;
  if (covered === null) return { deletable: null, failure: null };
  const found: readonly PartitionCounts[] = await tx.execute<PartitionCounts>(
    statements.countVanished(shape, covered, request),
  );
  const refused = found.filter((partition) => isTooMuch(partition, guard));
  const others = found.filter((partition) => !isTooMuch(partition, guard));
  const total = (of: 'live' | 'vanished') => others.reduce((sum, partition) => sum + partition[of], 0);
  const all = { partition: '', live: total('live'), vanished: total('vanished') };
  const failure = refused.length === 0 ? null : toGuardError(refused, guard);
  if (failure !== null && (covered.partitions === null || others.length === 0)) throw failure;
  if (isTooMuch(all, guard)) throw toGuardError([all], guard);
  if (all.vanished === 0) return { deletable: null, failure };
  const partitions =
    covered.partitions?.filter((one) => !refused.some(({ partition }) => partition === one)) ?? null;
  return { deletable: { ...covered, partitions }, failure };
}

function toGuardError(partitions: readonly PartitionCounts[], guard: Guard): SafetySyncError {
  const lacks = partitions.map(
    ({ partition, live, vanished }) =>
      `the response${partition === '' ? '' : ` for ${partition}`} lacks ${vanished} of ${live} live rows`,
  );
  return new SafetySyncError('delete_guard', `${lacks.join('; ')}, ${beyond(guard)}`);
}

/**
 * Counts the records that turn deleted. A run in which too many do fails.
 */
async function countTurning(tx: Queryable, parent: TableShape, request: MergeRequest): Promise<number> {
  const { guard, liveBefore, deletedBefore } = request;
  if (parent.deletedColumn === null) return 0;
  const [row] = await tx.execute<{ count: number }>(statements.countTurning(parent, request));
  const turning = row?.count ?? 0;
  const all = turning + deletedBefore;
  if (turning > 0 && isTooMuch({ live: liveBefore, vanished: all }, guard)) {
    const message = `the service sends ${all} of ${liveBefore} live rows as deleted`;
    throw new SafetySyncError('delete_guard', `${message}, ${beyond(guard)}`);
  }
  return turning;
}

async function mergeRows(tx: Queryable, shape: StreamShape, request: MergeRequest): Promise<RecordCounts> {
  const { parent, children, stream } = shape;
  const counts = noCounts();
  for (const table of request.fullCompare ? [parent, ...children] : [parent])
    await tx.execute(sql.raw(`analyze pg_temp.${table.stage}`));
  const older = await tx.execute<{ ord: number }>(
    statements.dropOlderCopies(parent, stream.changeTimeColumn, request),
  );
  await tx.execute(issues.dropReplaced(parent, older));
  let dropped = older.length;
  // What is kept of a person does not show whether a field was dropped.
  if (stream.personal === undefined) await tx.execute(statements.takeStoredHashes(shape, request.accountId));
  if (request.fullCompare) await tx.execute(clearHashOfDrifted(shape, request.accountId));
  dropped += (await tx.execute(statements.dropUnchanged(parent, request.accountId))).count;
  if (dropped > 0) {
    for (const child of children) await tx.execute(statements.dropOrphans(parent, child));
  }
  for (const child of children) {
    if (child.history !== null) await tx.execute(history.endChildStates(parent, child, request));
  }
  counts.deleted = await countTurning(tx, parent, request);
  const [written] = await tx.execute<{ staged: number; inserted: number; updated: number }>(
    statements.upsertParents(parent, request),
  );
  counts.inserted = written?.inserted ?? 0;
  counts.updated = (written?.updated ?? 0) - counts.deleted;
  counts.unchanged = dropped + (written?.staged ?? 0) - counts.inserted - counts.updated - counts.deleted;
  for (const child of children) {
    // Children with a history were already deleted by endChildStates.
    if ((written?.updated ?? 0) > 0 && child.history === null) {
      await tx.execute(statements.deleteStaleChildren(parent, child, request));
    }
    await tx.execute(statements.upsertChildren(parent, child, request));
  }
  await recordCompletions(tx, shape, {
    ...request,
    stagedKeys: request.staged.flatMap(({ key }) => key ?? []),
  });
  return counts;
}

/** A record that PostgreSQL refuses, for example in an index that somebody made on a column, costs itself. Halving finds it. */
async function mergeStaged(tx: Queryable, shape: StreamShape, request: MergeRequest): Promise<RecordCounts> {
  const { staged, stage, refuse } = request;
  const [first] = staged;
  const counts = noCounts();
  if (first === undefined) return counts;
  await tx.execute(sql`savepoint merge`);
  try {
    addCounts(counts, await mergeRows(tx, shape, request));
    await tx.execute(sql`release savepoint merge`);
    return counts;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await tx.execute(sql`rollback to savepoint merge`);
    await tx.execute(sql`release savepoint merge`);
    if (staged.length === 1) {
      await refuse(first, error);
      return { ...counts, rejected: 1 };
    }
  }
  const middle = Math.ceil(staged.length / 2);
  for (const half of [staged.slice(0, middle), staged.slice(middle)]) {
    await clearStaged(tx, shape);
    await stage(half);
    addCounts(counts, await mergeStaged(tx, shape, { ...request, staged: half }));
  }
  return counts;
}

async function mergeIssues(
  tx: Queryable,
  { parent, stream }: StreamShape,
  request: MergeRequest & { readonly deletedKeys: readonly string[] },
): Promise<void> {
  const scope = { ...request, stream: stream.name };
  await tx.execute(issues.recordIssues(scope));
  await tx.execute(issues.resolveIssues(parent, scope));
  await tx.execute(issues.resolveUnknownFields(parent, scope));
}

/**
 * Merges the staged rows, marks rows that a complete snapshot did not show as deleted, and updates the data issues. Counts
 * updated and deleted rows; `unchanged` counts staged copies that were not needed.
 */
export async function merge(tx: Queryable, shape: StreamShape, asked: MergeRequest): Promise<Merged> {
  const isKeyless = asked.covered !== null && asked.keyless > 0;
  const request = isKeyless ? { ...asked, covered: null } : asked;
  const { covered } = request;
  if (covered !== null) await tx.execute(sql.raw('analyze pg_temp.stage_seen'));
  const { deletable, failure } = await guardDeletions(tx, shape, request);
  const counts = await mergeStaged(tx, shape, request);
  const deleted =
    deletable === null
      ? []
      : await tx.execute<{ key: string }>(statements.markVanished(shape, deletable, request));
  const deletedKeys = deleted.map(({ key }) => key);
  counts.deleted += deletedKeys.length;
  if (covered?.partitions === null && shape.parent.deletedColumn !== null)
    await tx.execute(statements.endSentAsDeleted(shape.parent, shape.parent.deletedColumn, request));
  if (request.hasIssues || counts.rejected > 0) await mergeIssues(tx, shape, { ...asked, deletedKeys });
  const note = isKeyless
    ? `nothing was marked deleted, because any row may be ${formatNumber(asked.keyless, 'record')} without a usable key (safety-sync data-issues)`
    : null;
  return { counts, note, failure };
}
