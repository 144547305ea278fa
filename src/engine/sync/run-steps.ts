/** Runs the steps of a reader in their order: records, writes and state are stored and committed together. */
import type { RequestMeter } from '../api/requests.ts';
import { readHoles, readLedger, writeLedger } from '../control-tables/backfill-ledger.ts';
import type { Queryable } from '../database/connection.ts';
import { countDays } from '../history/followup-days.ts';
import { finishRun, followsDatabaseFailure, removeRun, updateRunCounts } from '../control-tables/runs.ts';
import { endLifted, type Lifted } from '../control-tables/stored-privacy.ts';
import type { TransactionTime, WriteTime } from '../database/sql-names.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { writeStreamState } from '../control-tables/stream-state.ts';
import { createLookupReads, writeLookupResults } from '../control-tables/user-lookups.ts';
import { resolveLookups } from '../loading/issue-sql.ts';
import type { Load } from '../loading/load.ts';
import type { CommitOptions } from '../loading/transaction.ts';
import { countWritten } from '../loading/merge-sql.ts';
import { streamShape } from '../database/table-shape.ts';
import { read } from '../reading/read.ts';
import { latestWrites, type ControlWrite, type ReadOutcome, type Step } from '../reading/step.ts';
import type { StateChange, StreamState } from '../streams/state.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import {
  isOfSingleRecords,
  isScheduled,
  NO_RECORD,
  type RunContext,
  type RunEnd,
  type RunRecord,
  type RunRequest,
  successOf,
  toEnding,
} from './run.ts';
import { toIso } from '../../shared/time.ts';
import { readStoredIssues } from './stored-issues.ts';
import { readStoredPartitions } from '../control-tables/stored-partitions.ts';
import { describeUnread, unreadOf } from '../streams/unread-partitions.ts';
import type { RunKey, StreamKey } from '../control-tables/control-tables.ts';

/**
 * A commit takes some twenty round trips, so there is not one for each response, unless the reader waits for the service
 * anyway.
 */
const RECORDS_OF_A_COMMIT = 20_000;

/** A run with its lock. */
export interface SessionRun {
  readonly context: RunContext;
  readonly request: RunRequest;
  readonly session: StreamSession;
  readonly meter: RequestMeter;
}

/** A run with its lock and its row. */
interface OpenRun extends SessionRun {
  readonly load: Load;
  readonly stream: StreamDefinition;
  readonly state: StreamState;
  readonly key: RunKey;
  readonly record: RunRecord;
  /** See `LoadOptions`. */
  readonly lifted: Lifted;
}

/** The source of the steps: a reader of the service, or stored records. */
function stepsOf({ context, request, session, meter, load, stream, state }: OpenRun) {
  const { settings, clock, signal } = context;
  const { db } = session.connection;
  const scope = { accountId: settings.accountId, stream: stream.name };
  if (request.retirePartition !== undefined) return retirePartition(request.retirePartition);
  if (request.retryIssues === true) return readStoredIssues(db, stream, scope.accountId);
  return read({
    ...request,
    stream,
    isScheduled: isScheduled(request),
    state,
    settings,
    service: {
      // Created at the first request, because a stream without requests needs no service.
      get api() {
        return context.api();
      },
      meter,
      clock,
      signal,
    },
    warehouse: {
      findVanished: (covered) => load.findVanished(covered),
      readLedger: () => readLedger(db, scope),
      readHoles: () => readHoles(db, scope),
      ...createLookupReads(db, scope.accountId),
    },
  });
}

/** Covers a partition without any record, so that the merge marks its rows as deleted. */
function retirePartition(partition: string): readonly Step[] {
  const note = `rows of equipment type ${partition} are marked deleted, because it is not configured any more`;
  return [
    { kind: 'end', outcome: { kind: 'read', covered: { partitions: [partition] }, note, failure: null } },
  ];
}

/** The transaction of the caller also stores the records of these writes. */
async function writeControlTables(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  writes: readonly ControlWrite[],
): Promise<void> {
  const latest = latestWrites(writes);
  const ofLedger = latest.filter((write) => write.kind !== 'lookups');
  await writeLedger(db, scope, ofLedger);
  for (const write of latest) {
    if (write.kind !== 'lookups') continue;
    const { begunAt, results, usable } = write;
    await writeLookupResults(db, { accountId: scope.accountId, now: scope.now, begunAt }, results);
    if (usable.length > 0) await db.execute(resolveLookups(usable, scope));
  }
}

/** Stores the steps of the reader in their order, and closes the run with the last one. */
export async function runSteps(run: OpenRun): Promise<RunEnd> {
  const { context, load, stream, key, meter } = run;
  const { db } = run.session.connection;
  let writes: ControlWrite[] = [];
  let [received, receivedBefore] = [0, 0];
  /** A commit of the records so far, with their writes and the run's counters. */
  const takeCommit = (): CommitOptions => {
    const taken = writes;
    writes = [];
    return {
      covered: null,
      isLast: false,
      beforeCommit: async (counts, _, { now }) => {
        await writeControlTables(db, { accountId: key.accountId, stream: stream.name, now }, taken);
        await updateRunCounts(db, key, counts, meter);
      },
    };
  };
  for await (const step of stepsOf(run)) {
    switch (step.kind) {
      case 'records':
        await load.add(step.records, step.about);
        received += step.records.length;
        context.events.onRead?.(stream.name, received);
        writes.push(...(step.writes ?? []));
        if (step.progress !== undefined) context.events.onProgress?.(stream.name, step.progress);
        // Without such a list the ledger would not contain these records, and they would be read again.
        if (step.writes !== undefined && load.uncommitted >= RECORDS_OF_A_COMMIT) {
          await load.beginCommit(takeCommit());
        }
        break;
      case 'savepoint':
        await load.savepoint();
        receivedBefore = received;
        break;
      case 'rollback':
        await load.rollback();
        received = receivedBefore;
        break;
      case 'commit':
        await load.commit(takeCommit());
        break;
      case 'idle':
        if (load.isIdle && (load.uncommitted > 0 || writes.length > 0)) await load.beginCommit(takeCommit());
        break;
      case 'end':
        return await finish(run, step.outcome, writes);
    }
  }
  throw new TypeError('the reader ended without its last step');
}

/** The last commit: rows, ledger, state and the closed run in one transaction. */
async function finish(run: OpenRun, outcome: ReadOutcome, writes: readonly ControlWrite[]): Promise<RunEnd> {
  const { request, session, meter, load, stream, state, key, record } = run;
  const lifted = Object.keys(run.lifted);
  const { db } = session.connection;
  const scope = { accountId: key.accountId, stream: stream.name };
  const change: StateChange = outcome.state ?? {};
  const watermarkAfter = toIso((change.watermark ?? state.watermark)?.ms ?? null);
  const covered = outcome.kind === 'read' ? outcome.covered : null;
  let ending = toEnding(outcome);
  let repaired: number | null = null;
  // A scheduled run without requests is logged and counted, and leaves no row. The exception is one after a failure of the
  // database: its row shows that the database can be used again, else the stream would count as failing until its next request.
  const leavesNoRow =
    outcome.kind === 'skipped' &&
    isScheduled(request) &&
    meter.requests === 0 &&
    !(await followsDatabaseFailure(db, { ...key, ...scope }));
  const counts = await load.commit({
    covered,
    isLast: true,
    beforeCommit: async (total, merged, time) => {
      const { now } = time;
      await writeControlTables(db, { ...scope, now }, writes);
      const isReadAgain = lifted.length > 0 && covered !== null;
      ending = toEnding(outcome, {
        failure: merged.failure,
        notes: [
          merged.note,
          isOfSingleRecords(request) ? null : await describeUnreadRows(db, run),
          isReadAgain
            ? `columns with another protection than before were read again: ${lifted.join(', ')}`
            : null,
        ],
      });
      if (outcome.kind === 'read' && outcome.repairUpToMs !== undefined) {
        // 0 after a privacy setting changed, because the values that it had excluded are no missed changes.
        repaired =
          lifted.length > 0
            ? 0
            : await countRepaired(db, stream, { ...key, ...time, upToMs: outcome.repairUpToMs });
      }
      if (isReadAgain && ending.outcome === 'succeeded') await endLifted(db, scope);
      const success = successOf(ending, { request, requests: meter.requests });
      const partitions = success === 'none' ? null : covered?.partitions;
      const readPartitions =
        partitions == null ? undefined : Object.fromEntries(partitions.map((partition) => [partition, now]));
      await writeStreamState(db, scope, { change, success, readPartitions });
      const isCounted =
        success !== 'none' || (ending.outcome === 'succeeded' && request.onlyRecord !== undefined);
      if (isCounted && stream.histories.length > 0) {
        const keepsPeriods = stream.countsDays === true;
        await countDays(db, { ...scope, now, keepsPeriods });
      }
      if (leavesNoRow) {
        await removeRun(db, key);
        return;
      }
      await finishRun(db, {
        ...key,
        counts: total,
        requests: meter,
        watermark: watermarkAfter,
        status: ending.outcome,
        repaired,
        note:
          ending.outcome === 'skipped' ? ending.reason : ending.outcome === 'succeeded' ? ending.note : null,
        failure: ending.outcome === 'failed' ? ending.error : null,
      });
    },
  });
  const kept = leavesNoRow ? NO_RECORD : record;
  return { ...ending, counts, repaired, record: { ...kept, watermarkAfter } };
}

/** reconcile: counts the changes in this transaction that the source had made before `upToMs`. */
async function countRepaired(
  db: Queryable,
  stream: StreamDefinition,
  scope: RunKey & WriteTime & { readonly upToMs: number },
): Promise<number> {
  if (stream.changeTimeColumn === null) return 0;
  const [row] = await db.execute<{ count: number }>(
    countWritten(streamShape(stream).parent, stream.changeTimeColumn, scope),
  );
  return row?.count ?? 0;
}

/** The note about live rows that no run reads, because these rows are older than the stream's last success suggests. */
async function describeUnreadRows(db: Queryable, { stream, key, context }: OpenRun): Promise<string | null> {
  if (stream.partitionedBy === undefined) return null;
  const stored = await readStoredPartitions(db, [key.accountId]);
  return describeUnread(unreadOf(stored.get(key.accountId) ?? [], context.settings.equipmentTypes));
}
