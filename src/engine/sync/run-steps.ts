/** Runs the steps of a reader in their order: records, writes and state are stored and committed together. */
import { countDays } from '../history/days.ts';
import { removeRun, type RunEnding, updateRun } from '../control-tables/runs.ts';
import type { Database } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';
import { readLedger, writeLedger, writeStreamState } from '../control-tables/stream-state.ts';
import { readNamesState, readTypes } from '../control-tables/met-ids.ts';
import { readOptionalMethods, writeOptionalMethods } from '../control-tables/optional-methods.ts';
import { createPeopleReads, writePeopleAsked, writePeopleListed } from '../control-tables/user-lookups.ts';
import { countListed, countWritten } from '../loading/staging.ts';
import { streamShape } from '../database/table-shape.ts';
import { differenceOf } from '../reading/followups.ts';
import { read } from '../reading/read.ts';
import type { WarehouseReads } from '../reading/read-request.ts';
import type { ControlWrite, ReadOutcome, Step } from '../reading/step.ts';
import type { Coverage } from '../streams/stream.ts';
import { readsWholeStream, type Run, toEnding } from './run.ts';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { readRefused, readStoredIssues } from './stored-issues.ts';

/** A commit takes some twenty round trips, so there is not one for each response, unless responses are slow. */
const RECORDS_OF_A_COMMIT = 20_000;
const COMMIT_MS = SECOND_MS;

/** Queries of a reader. Without a load nothing was read before. */
export function warehouseReads(
  { accountId, stream }: Pick<Run, 'accountId' | 'stream'>,
  db: Database,
  load?: Run['load'],
): WarehouseReads {
  return {
    findVanished: async (covered) => (await load?.findVanished(covered)) ?? new Set(),
    areStored: async (list) => (await load?.areStored(list)) ?? false,
    readLedger: () => readLedger(db, { accountId, stream: stream.name }),
    countListed: () => countListed(db, streamShape(stream), accountId),
    ...createPeopleReads(db, accountId),
    readOptionalMethods: () => readOptionalMethods(db, accountId),
    readTypes: () => readTypes(db, accountId),
    readNamesState: () => readNamesState(db, accountId),
  };
}

/** The source of the steps: a reader of the service, or stored records. */
async function* stepsOf(run: Run): AsyncGenerator<Step> {
  const { accountId, request, stream, load } = run;
  const { db } = run.session.connection;
  const { retirePartition: retired } = request;
  if (retired !== undefined) {
    const note = `rows of equipment type ${retired} are marked deleted, because it is not configured any more`;
    const covered = { partitions: [retired] };
    yield { kind: 'end', outcome: { kind: 'read', covered, note, failure: null } };
    return;
  }
  if (request.retryIssues === true) return yield* readStoredIssues(db, stream, accountId);
  // The next request for changes does not show them again.
  if (request.kind === 'sync' && stream.readMode.kind === 'incremental')
    yield* readRefused(db, stream, accountId);
  yield* read({ ...request, ...run, service: run, warehouse: warehouseReads(run, db, load) });
}

/** The open transaction also stores the records of these writes. */
async function writeControlTables(
  { accountId, stream, session }: Run,
  now: string,
  writes: readonly ControlWrite[],
): Promise<void> {
  const { db } = session.connection;
  const scope = { accountId, stream: stream.name, now };
  for (const write of writes) {
    if (write.kind === 'methods') await writeOptionalMethods(db, scope, write.results);
    else if (write.kind === 'people_asked') await writePeopleAsked(db, scope, write);
    else if (write.kind === 'people_listed') await writePeopleListed(db, accountId, write.ids);
    else await writeLedger(db, scope, write);
  }
}

/** Stores the steps of the reader in their order, and closes the run with the last one. */
export async function runSteps(run: Run): Promise<RunEnding> {
  const { load, meter, stream, clock, events } = run;
  const { db } = run.session.connection;
  let writes: ControlWrite[] = [];
  let received = 0;
  let committedMs = clock.monotonicMs();
  /** The records so far, with their writes and the run's counters. */
  const commitOf = (covered: Coverage | null) => {
    const taken = writes;
    writes = [];
    return {
      covered,
      beforeCommit: async (counts: Run['meter']['counts'], _: unknown, { now }: TransactionTime) => {
        await writeControlTables(run, now, taken);
        await updateRun(db, run, { counts, meter });
      },
    };
  };
  for await (const step of stepsOf(run)) {
    switch (step.kind) {
      case 'records': {
        await load.add(step.records, step.about);
        received += step.records.length;
        events.onRead?.(stream.name, received, step.progress);
        writes.push(...(step.writes ?? []));
        const nowMs = clock.monotonicMs();
        const isDue = load.uncommitted >= RECORDS_OF_A_COMMIT || nowMs - committedMs >= COMMIT_MS;
        // Without such a list the ledger would not contain these records, and they would be read again. Writes alone wait for the
        // next records, or for the end: a reconcile counts in its last transaction what it has repaired.
        if (step.writes === undefined || step.records.length === 0 || !isDue) break;
        committedMs = nowMs;
        await load.beginCommit(commitOf(null));
        break;
      }
      case 'commit':
        await load.commit(commitOf(step.covered ?? null));
        break;
      case 'discard':
        await load.discard();
        break;
      case 'end':
        return await finish(run, step.outcome, writes);
    }
  }
  throw new TypeError('the reader ended without its last step');
}

/** The last commit: rows, ledger, state and the closed run in one transaction. */
async function finish(run: Run, outcome: ReadOutcome, writes: readonly ControlWrite[]): Promise<RunEnding> {
  const { accountId, request, meter, load, stream } = run;
  const { db } = run.session.connection;
  const {
    covered,
    repairUpToMs: upToMs,
    state: change = {},
  } = outcome.kind === 'read' ? outcome : { covered: null };
  // Nothing was due. By hand the row of a list that is not due yet says when it will be.
  const isDueLater =
    outcome.kind === 'skipped' && outcome.dueInMs !== undefined && request.trigger === 'manual';
  const leavesNoRow = outcome.kind === 'skipped' && meter.requests === 0 && !isDueLater;
  const { totals } = change.completeRead ?? {};
  const shape = streamShape(stream);
  let ending = toEnding(outcome);
  await load.commit({
    covered,
    beforeCommit: async (total, merged, time) => {
      const scope = { accountId, stream: stream.name, now: time.now };
      await writeControlTables(run, time.now, writes);
      ending = toEnding(outcome, merged);
      // Rows that were uncertain are corrected, although no run has missed a change of theirs.
      if (upToMs !== undefined && load.before.uncertain === 0)
        meter.repaired = await countWritten(db, shape, { ...run, ...time, upToMs });
      const hasSucceeded = ending.outcome === 'succeeded';
      const isFresh = hasSucceeded && readsWholeStream(request);
      const parts = (isFresh && covered?.partitions) || undefined;
      await writeStreamState(db, scope, {
        change,
        difference:
          totals && (hasSucceeded ? differenceOf(await countListed(db, shape, accountId), totals) : null),
        isFresh,
        readPartitions: parts && Object.fromEntries(parts.map((one) => [one, time.now])),
        lists: 'lists' in stream.readMode ? stream.readMode.lists : [],
      });
      if (hasSucceeded) await countDays(db, scope, isFresh);
      const watermark = toIso(change.watermark ?? null);
      if (leavesNoRow) await removeRun(db, run);
      else await updateRun(db, run, { counts: total, meter, watermark, ending });
    },
  });
  if (leavesNoRow) meter.runId = null;
  return ending;
}
