/**
 * Runs the merge of one stream inside the run's transaction: changed rows, deletions, data issues. New rows were copied
 * before (copy-records.ts).
 */
import { type SQL, sql } from 'drizzle-orm';
import { SafetySyncError } from '../../shared/errors.ts';
import type { Queryable } from '../database/connection.ts';
import * as drift from './drift-sql.ts';
import * as history from '../history/history-sql.ts';
import * as issues from './issue-sql.ts';
import * as statements from './merge-sql.ts';
import { keepWhatMayBeKeyless } from './keyless.ts';
import type { LoadOptions } from './load-options.ts';
import type { Stored } from './batch.ts';
import { addDeltas, applyDeltas, readCountedDays, voidDays } from '../history/followup-days.ts';
import { noCounts, type RecordCounts } from '../control-tables/record-counts.ts';
import type { WriteTime } from '../database/sql-names.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';

/** Below this number of live rows a share is not meaningful. */
const GUARD_FROM_ROWS = 20;

interface MergeRequest
  extends
    LoadOptions,
    WriteTime,
    Pick<Stored, 'addedKeys' | 'stagedKeys' | 'resolvedIdentities' | 'resolvedKeys'> {
  /** The coverage of a complete snapshot; null when nothing may be deleted. */
  readonly covered: Coverage | null;
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

async function rowCount(tx: Queryable, statement: SQL): Promise<number> {
  return (await tx.execute(statement)).count;
}

interface Deletions {
  /** null: there are no rows to delete. */
  readonly deletable: Coverage | null;
  readonly failure: SafetySyncError | null;
}

type PartitionCounts = Readonly<{ partition: string; live: number; vanished: number }>;

/**
 * Determines the deletions that are allowed. A partition that lacks too much is left unchanged, because the other
 * partitions may be correct; if it is the only one, or all together lack too much, the snapshot is refused.
 */
async function guardDeletions(tx: Queryable, shape: StreamShape, request: MergeRequest): Promise<Deletions> {
  const { covered, guard } = request;
  if (covered === null) return { deletable: null, failure: null };
  const found: readonly PartitionCounts[] = await tx.execute<PartitionCounts>(
    statements.countVanished(shape, covered, request),
  );
  const isTooMuch = ({ live, vanished }: PartitionCounts) =>
    !guard.allowMassDelete && live >= GUARD_FROM_ROWS && vanished / live > guard.maxRatio;
  const refused = found.filter(isTooMuch);
  const others = found.filter((partition) => !isTooMuch(partition));
  const total = (of: 'live' | 'vanished') => others.reduce((sum, partition) => sum + partition[of], 0);
  const all = { partition: '', live: total('live'), vanished: total('vanished') };
  const failure = refused.length === 0 ? null : toGuardError(refused, guard);
  if (failure !== null && (covered.partitions === null || others.length === 0)) throw failure;
  if (isTooMuch(all)) throw toGuardError([all], guard);
  if (all.vanished === 0) return { deletable: null, failure };
  const partitions =
    covered.partitions?.filter((one) => !refused.some(({ partition }) => partition === one)) ?? null;
  return { deletable: { partitions }, failure };
}

function toGuardError(
  partitions: readonly PartitionCounts[],
  { maxRatio }: LoadOptions['guard'],
): SafetySyncError {
  const lacks = partitions.map(
    ({ partition, live, vanished }) =>
      `the response${partition === '' ? '' : ` for ${partition}`} lacks ${vanished} of ${live} live rows`,
  );
  return new SafetySyncError(
    'delete_guard',
    `${lacks.join('; ')}, more than MAX_DELETE_RATIO (${maxRatio}) allows`,
  );
}

async function clearHashOfDrifted(tx: Queryable, shape: StreamShape, accountId: string): Promise<void> {
  const { parent, children } = shape;
  for (const child of children) {
    await tx.execute(sql.raw(`analyze pg_temp.${child.stage}`));
  }
  await tx.execute(drift.clearHashOfDriftedParents(shape, accountId));
  for (const child of children) await tx.execute(drift.clearHashOfDriftedChildren(parent, child, accountId));
}

/**
 * Values that a privacy setting excluded are filled in place, because they are no change of the source and create no state.
 */
async function fillLifted(
  tx: Queryable,
  { parent, children }: StreamShape,
  { lifted, accountId }: MergeRequest,
): Promise<void> {
  for (const [column, until] of Object.entries(lifted)) {
    for (const table of [parent, ...children]) {
      const name = table.history?.compared.find((one) => `${table.name}.${one}` === column);
      if (name === undefined) continue;
      await tx.execute(history.fillColumn(parent, table, { column: name, until, accountId }));
    }
  }
}

async function mergeRows(tx: Queryable, shape: StreamShape, request: MergeRequest): Promise<RecordCounts> {
  const { parent, children, stream } = shape;
  const counts = noCounts();
  await tx.execute(sql.raw(`analyze pg_temp.${parent.stage}`));
  let dropped = await rowCount(tx, statements.dropSuperseded(parent, stream.changeTimeColumn));
  const addedBefore = new Set(request.addedKeys);
  const isRepeated = request.stagedKeys.some((key) => addedBefore.has(key));
  const dropOlder =
    stream.changeTimeColumn === null
      ? statements.dropSeenLater(parent)
      : statements.dropOlderThanStored(parent, stream.changeTimeColumn, request);
  dropped += await rowCount(tx, dropOlder);
  if (request.fullCompare) {
    await clearHashOfDrifted(tx, shape, request.accountId);
    dropped += await rowCount(tx, drift.dropWithoutDrift(parent, request.accountId));
  }
  if (dropped > 0 || isRepeated) {
    for (const child of children) await tx.execute(statements.dropOrphans(parent, child));
    await tx.execute(sql.raw('analyze pg_temp.stage_issues'));
    await tx.execute(issues.dropOrphanIssues(parent));
  }
  await fillLifted(tx, shape, request);
  for (const child of children) {
    if (child.history !== null) await tx.execute(history.endChildStates(parent, child, request));
  }
  // Two copies of a record in one transaction count as one insert and one unchanged record.
  const [repeated] = isRepeated
    ? await tx.execute<{ count: number }>(statements.countRepeated(parent, request))
    : [];
  const [written] = await tx.execute<{ staged: number; inserted: number; updated: number }>(
    statements.upsertParents(parent, request),
  );
  counts.inserted = written?.inserted ?? 0;
  counts.updated = (written?.updated ?? 0) - (repeated?.count ?? 0);
  counts.unchanged = dropped + (written?.staged ?? 0) - counts.inserted - counts.updated;
  for (const child of children) {
    // Children with a history were already deleted by endChildStates.
    if ((written?.updated ?? 0) > 0 && child.history === null) {
      await tx.execute(statements.deleteStaleChildren(parent, child, request));
    }
    await tx.execute(statements.upsertChildren(parent, child, request));
  }
  return counts;
}

/** Keys of stored rows that the merge may change or mark as deleted. */
async function readChanging(
  tx: Queryable,
  shape: StreamShape,
  { request, deletable }: { readonly request: MergeRequest; readonly deletable: Coverage | null },
): Promise<string[]> {
  const { stagedKeys, addedKeys, accountId } = request;
  const vanished =
    deletable === null
      ? []
      : await tx.execute<{ key: string }>(statements.selectVanished(shape, deletable, accountId));
  const added = new Set(addedKeys);
  return [...stagedKeys.filter((key) => !added.has(key)), ...vanished.map(({ key }) => key)];
}

async function mergeIssues(
  tx: Queryable,
  { parent, stream }: StreamShape,
  request: MergeRequest & { readonly deletedKeys: readonly string[] },
): Promise<void> {
  const { covered, inPlace } = request;
  const scope = { ...request, stream: stream.name };
  await tx.execute(issues.recordIssues(scope));
  if (inPlace) return;
  const vanished =
    covered === null ? [] : await tx.execute<{ key: string }>(issues.readVanishedRejections(covered, scope));
  const resolvedKeys = [...request.resolvedKeys, ...vanished.map(({ key }) => key)];
  const resolved = await rowCount(tx, issues.resolveIssues(parent, { ...scope, resolvedKeys }));
  if (resolved > 0) await tx.execute(issues.deleteResolved('keyless', scope));
  if ((await rowCount(tx, issues.resolveUnknownFields(parent, scope))) === 0) return;
  await tx.execute(issues.deleteResolved('unknown_field', scope));
  await tx.execute(issues.resolveUnlisted(scope));
}

/**
 * Merges the staged rows, marks rows that a complete snapshot did not show as deleted, and updates the data issues. Counts
 * updated and deleted rows; `unchanged` counts staged copies that were not needed.
 */
export async function merge(tx: Queryable, shape: StreamShape, request: MergeRequest): Promise<Merged> {
  const { accountId, covered } = request;
  const { stream } = shape;
  const added = request.addedKeys.length;
  if (covered !== null) await tx.execute(sql.raw('analyze pg_temp.stage_seen'));
  const { deletable, failure } = await guardDeletions(tx, shape, request);
  const mayChange = request.stagedKeys.length + added > 0 || deletable !== null;
  const countsDays = stream.countsDays === true && mayChange;
  // For a row that was changed in the warehouse, the previous count is unknown.
  const days = countsDays && !request.fullCompare ? await readCountedDays(tx, accountId) : null;
  const changing = days === null ? [] : await readChanging(tx, shape, { request, deletable });
  if (days !== null) await addDeltas(tx, days, { keys: changing, sign: -1 });
  const mayBeKeyless = covered !== null && request.keyless !== null;
  const [returning] = mayBeKeyless
    ? await tx.execute<{ count: number }>(statements.countReturning(shape.parent, accountId))
    : [];
  const counts = request.stagedKeys.length > 0 ? await mergeRows(tx, shape, request) : noCounts();
  const appeared = counts.inserted + added + (returning?.count ?? 0);
  const note =
    covered === null ? null : await keepWhatMayBeKeyless(tx, shape, { ...request, covered, appeared });
  const deleted =
    deletable === null
      ? []
      : await tx.execute<{ key: string }>(statements.markVanished(shape, deletable, request));
  const deletedKeys = deleted.map(({ key }) => key);
  counts.deleted = deletedKeys.length;
  if (days !== null) {
    await addDeltas(tx, days, { keys: [...changing, ...request.addedKeys], sign: 1 });
    await applyDeltas(tx, accountId);
  } else if (countsDays && counts.inserted + counts.updated + counts.deleted + added > 0) {
    await voidDays(tx, accountId);
  }
  if (request.hasIssues) await mergeIssues(tx, shape, { ...request, deletedKeys });
  return { counts, note, failure };
}
