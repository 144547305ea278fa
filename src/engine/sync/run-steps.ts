/** Runs the steps of a reader in their order: records, writes and state are stored and committed together. */
import type { RequestMeter } from '../api/requests.ts';
import { readLedger, writeLedger } from '../control-tables/backfill-ledger.ts';
import type { Queryable } from '../database/connection.ts';
import { countDays } from '../history/days.ts';
import { finishRun, followsDatabaseFailure, removeRun, updateRunCounts } from '../control-tables/runs.ts';
import { endLifted, type Lifted } from '../control-tables/stored-privacy.ts';
import type { TransactionTime, WriteTime } from '../database/sql-names.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { writeStreamState } from '../control-tables/stream-state.ts';
import { readNamesState, readTypes } from '../control-tables/met-ids.ts';
import { readOptionalMethods, writeOptionalMethods } from '../control-tables/optional-methods.ts';
import { createPeopleReads, writePeopleAsked, writePeopleListed } from '../control-tables/user-lookups.ts';
import type { Load } from '../loading/load.ts';
import type { CommitOptions } from '../loading/transaction.ts';
import { countWritten } from '../loading/merge-sql.ts';
import { countListed, findVanished } from '../loading/staging.ts';
import { type StreamShape, streamShape } from '../database/table-shape.ts';
import { differenceOf } from '../reading/followups.ts';
import { read } from '../reading/read.ts';
import type { ControlWrite, ReadOutcome, Step } from '../reading/step.ts';
import { NAMING_LISTS } from '../streams/optional-methods.ts';
import type { LedgerChange, StateChange, StreamState } from '../streams/state.ts';
import type { Coverage, StreamDefinition } from '../streams/stream.ts';
import { recordKey } from '../streams/wire.ts';
import {
  isOfSingleRecords,
  isScheduled,
  NO_RECORD,
  type RunContext,
  type RunEnd,
  type RunRecord,
  type RunRequest,
  isFreshAfter,
  toEnding,
} from './run.ts';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { readRefused, readStoredIssues } from './stored-issues.ts';
import { readStoredPartitions } from '../control-tables/stored-partitions.ts';
import { describeUnread, unreadOf } from '../streams/unread-partitions.ts';
import type { RunKey, StreamKey } from '../control-tables/control-tables.ts';

/** A commit takes some twenty round trips, so there is not one for each response, unless responses are slow. */
const RECORDS_OF_A_COMMIT = 20_000;
const COMMIT_MS = SECOND_MS;

/** Optional lists by the way a stream is read: it is as fresh as the oldest of those that the service offers. */
const LISTS_OF: Readonly<Record<string, readonly string[]>> = { names: NAMING_LISTS, people: ['users.list'] };

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
async function* stepsOf({
  context,
  request,
  session,
  meter,
  load,
  stream,
  state,
}: OpenRun): AsyncGenerator<Step> {
  const { settings, clock, signal } = context;
  const { db } = session.connection;
  const scope = { accountId: settings.accountId, stream: stream.name };
  if (request.retirePartition !== undefined) return yield* retirePartition(request.retirePartition);
  if (request.retryIssues === true) return yield* readStoredIssues(db, stream, scope.accountId);
  // The next request for changes does not show them again.
  if (request.kind === 'sync' && stream.readMode.kind === 'incremental')
    yield* readRefused(db, stream, scope.accountId);
  yield* read({
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
      areStored: (list) => load.areStored(list.map((one) => recordKey(one, stream.keyField))),
      readLedger: () => readLedger(db, scope),
      countListed: () => countListed(db, streamShape(stream), scope.accountId),
      ...createPeopleReads(db, scope.accountId),
      readOptionalMethods: () => readOptionalMethods(db, scope.accountId),
      readTypes: () => readTypes(db, scope.accountId),
      readNamesState: () => readNamesState(db, scope.accountId),
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
  const ofLedger: LedgerChange[] = [];
  for (const write of writes) {
    if (write.kind === 'methods') await writeOptionalMethods(db, scope, write.results);
    else if (write.kind === 'people_asked') await writePeopleAsked(db, scope, write);
    else if (write.kind === 'people_listed') await writePeopleListed(db, scope.accountId);
    else ofLedger.push(write);
  }
  await writeLedger(db, scope, ofLedger);
}

/** Stores the steps of the reader in their order, and closes the run with the last one. */
export async function runSteps(run: OpenRun): Promise<RunEnd> {
  const { context, load, stream, key, meter } = run;
  const { db } = run.session.connection;
  let writes: ControlWrite[] = [];
  let received = 0;
  let committedMs = context.clock.monotonicMs();
  /** A commit of the records so far, with their writes and the run's counters. */
  const takeCommit = (covered: Coverage | null = null): CommitOptions => {
    const taken = writes;
    writes = [];
    return {
      covered,
      isLast: false,
      beforeCommit: async (counts, _, { now }) => {
        await writeControlTables(db, { accountId: key.accountId, stream: stream.name, now }, taken);
        await updateRunCounts(db, key, counts, meter);
      },
    };
  };
  const isDue = (): boolean =>
    load.uncommitted >= RECORDS_OF_A_COMMIT || context.clock.monotonicMs() - committedMs >= COMMIT_MS;
  for await (const step of stepsOf(run)) {
    switch (step.kind) {
      case 'records':
        await load.add(step.records, step.about);
        received += step.records.length;
        context.events.onRead?.(stream.name, received);
        writes.push(...(step.writes ?? []));
        if (step.progress !== undefined) context.events.onProgress?.(stream.name, step.progress);
        // Without such a list the ledger would not contain these records, and they would be read again.
        if (step.writes !== undefined && isDue()) {
          committedMs = context.clock.monotonicMs();
          await load.beginCommit(takeCommit());
        }
        break;
      case 'commit':
        await load.commit(takeCommit(step.covered));
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
  const watermarkAfter = toIso(change.watermark ?? state.watermark);
  const covered = outcome.kind === 'read' ? outcome.covered : null;
  let ending = toEnding(outcome);
  let repaired: number | null = null;
  // A scheduled run without requests, or one for which nothing was due, is logged and counted, and leaves no row. The exception is one after a failure of the
  // database: its row shows that the database can be used again, else the stream would count as failing until its next request.
  const leavesNoRow =
    outcome.kind === 'skipped' &&
    (isScheduled(request) || outcome.isIdle === true) &&
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
      const isFresh = isFreshAfter(ending, request);
      const partitions = isFresh ? covered?.partitions : null;
      const readPartitions =
        partitions == null ? undefined : Object.fromEntries(partitions.map((partition) => [partition, now]));
      const difference =
        change.completeRead &&
        (await differenceLeft(db, { shape: streamShape(stream), ...scope }, change.completeRead.totals));
      await writeStreamState(db, scope, {
        change,
        difference,
        isFresh,
        readPartitions,
        lists: LISTS_OF[stream.readMode.kind],
      });
      const isCounted = isFresh || (ending.outcome === 'succeeded' && request.onlyRecord !== undefined);
      if (isCounted) await countDays(db, { ...scope, now });
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

/**
 * How many more records the service counts than it shows, after a complete read. null: a row was kept although the read did
 * not show it, because the response may be late, so a later run looks again.
 */
async function differenceLeft(
  db: Queryable,
  { shape, accountId }: { readonly shape: StreamShape; readonly accountId: string },
  totals: readonly number[],
): Promise<number | null> {
  const unseen = await findVanished(db, shape, { covered: { partitions: null }, accountId });
  return unseen.size > 0 ? null : differenceOf(await countListed(db, shape, accountId), totals);
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
