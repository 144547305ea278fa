/** Follow-ups: all of them at first, then the changes since the watermark; deletions and drift by a complete read. */
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration, formatNumber } from '../../shared/format.ts';
import { HOUR_MS } from '../../shared/time.ts';
import { isLeftAlone } from '../streams/optional-methods.ts';
import { type StateChange, type TimeSlice, WHOLE_TIME } from '../streams/state.ts';
import { readBackfill } from './backfill.ts';
import { describeRange, isWholeTime, unionOf } from './creation-time.ts';
import { createFollowupRun, type FollowupRun } from './followup-run.ts';
import type { ReadRequest } from './read-request.ts';
import { type ReadOutcome, type Steps, writes } from './step.ts';
import { walk } from './walk.ts';
import { nextWatermark } from './watermark.ts';

/** A scheduled run reads everything again after this time, and after this many times the duration of the last such read. */
const COMPLETE_READ_MS = HOUR_MS;
const COMPLETE_READ_FACTOR = 10;
/** A row that changed less than this before a complete read may be missing there because that response is late. */
const LATE_MS = HOUR_MS;

/** Reads the changes since the watermark; returns the next one. */
async function* readChanges(run: FollowupRun, watermark: number): Steps<number> {
  // The overlap is for changes that become visible later than at their `updated_on`. The bound is exclusive: one millisecond less,
  // so that a second change within the watermark's own millisecond is read.
  const fromMs = watermark - run.read.settings.followupsOverlapMs;
  const filters = { updated_after: Math.max(0, fromMs - 1) };
  const { first, seen } = yield* walk(run, WHOLE_TIME, { filters });
  for (const name of seen.keys()) run.changed.add(name);
  return nextWatermark(watermark, first) ?? watermark;
}

/** No commit is between the two: of the failed slices within the range those stay open that fail again. */
async function* readAgain(run: FollowupRun, range: TimeSlice) {
  yield writes({ kind: 'read_again', range });
  return yield* walk(run, range);
}

/**
 * Reads the slices again that failed in earlier runs or in this one. What still fails is a smaller slice, because all other
 * records are stored.
 */
async function* retryFailed(run: FollowupRun): Steps {
  const { slices } = await run.read.warehouse.readLedger();
  const known = slices.filter(({ status }) => status === 'failed');
  const open = [...known, ...run.failed.map(({ range }) => range)];
  run.failed = [];
  for (const range of unionOf(open)) yield* readAgain(run, range);
}

/** Changes were stored up to the watermark, but those in failed slices, so the run fails while one is open. */
function toOutcome({ read, failed, notes }: FollowupRun, state: StateChange): ReadOutcome & { kind: 'read' } {
  const note = notes.join('; ') || null;
  const [first] = failed;
  if (first === undefined) return { kind: 'read', covered: null, state, note, failure: null };
  const { range, error } = first;
  const more = failed.length === 1 ? '' : ` (and ${failed.length - 1} more ranges)`;
  const message = `${read.stream.method}, created ${describeRange(range)}${more}: ${error.message}`;
  const code = error.code === 'read_incomplete' ? error.code : 'range_unreadable';
  const failure = new SafetySyncError(code, message, { cause: error, requestId: error.requestId });
  return { kind: 'read', covered: null, state, note, failure };
}

/** A backfill, and the first sync, which is resumed like one. */
async function* readPlanned(run: FollowupRun): Steps<ReadOutcome> {
  const { range = WHOLE_TIME, kind, state } = run.read;
  const { isOnePage, ...end } = yield* readBackfill(run);
  let { watermark } = end;
  // Records may have changed since they were read, also in an earlier run.
  if (kind === 'sync' && watermark !== null && !isOnePage) watermark = yield* readChanges(run, watermark);
  yield* retryFailed(run);
  const latest = Math.max(state.watermark ?? -Infinity, watermark ?? -Infinity);
  // Only a backfill of everything has read all changes that the service had made when it began.
  const isAdvanced = isWholeTime(range) && Number.isFinite(latest);
  return toOutcome(run, { isPlanDone: true, ...(isAdvanced && { watermark: latest }) });
}

/** Reads everything, after the changes: what else differs was missed by earlier runs, or was deleted. */
async function* readEverything(run: FollowupRun, watermark: number | null): Steps<ReadOutcome> {
  const { read } = run;
  yield writes({ kind: 'complete_read' });
  yield { kind: 'commit' };
  const begunMs = read.service.clock.monotonicMs();
  run.failed = [];
  const { first, announced, latestChangeMs, seen } = yield* readAgain(run, WHOLE_TIME);
  const outcome = toOutcome(run, { watermark: nextWatermark(watermark, first) });
  if (first === undefined || outcome.failure !== null) return outcome;
  // A time in the service's future is an error of the data.
  const late = { fromMs: Math.max(latestChangeMs, first.timeMs - LATE_MS), toMs: first.timeMs + LATE_MS };
  // At a new address nothing is late: everything that it lacks is of another one.
  const covered = { partitions: null, ...(!read.state.isMoved && { late }) };
  const all = [announced, await run.askTotal()].filter((total) => total !== undefined);
  // What this read did not show is deleted, or stays: read as changed by this run, or late.
  const lacking = await read.warehouse.findVanished({ partitions: null });
  const deleted = lacking.size === 0 ? lacking : await read.warehouse.findVanished(covered);
  const nothingStays = deleted.size === lacking.size && [...run.changed].every((name) => seen.has(name));
  const tookMs = Math.round(read.service.clock.monotonicMs() - begunMs);
  return {
    ...outcome,
    covered,
    state: { ...outcome.state, completeRead: { tookMs, totals: nothingStays ? all : null } },
    ...(watermark !== null && { repairUpToMs: watermark }),
  };
}

/** How many more records the service counts than are stored, outside of what changed between two of its totals. */
export function differenceOf(rows: number, totals: readonly number[]): number {
  if (totals.length === 0) return 0;
  const [least, most] = [Math.min(...totals), Math.max(...totals)];
  return rows < least ? least - rows : Math.min(0, most - rows);
}

/** Drift is found by counting: what no change shows, for example a deletion, a form that is hidden, a replica that was late. */
async function* readDrift(run: FollowupRun, readUpTo: number): Steps<ReadOutcome> {
  const { read, notes } = run;
  const { agoMs, tookMs, difference: knownDifference } = read.state.completeRead;
  yield { kind: 'commit' };
  const total = await run.askTotal();
  if (total === undefined) return toOutcome(run, { watermark: readUpTo });
  if (total === (await read.warehouse.countListed()))
    return toOutcome(run, { watermark: readUpTo, difference: 0 });
  const watermark = yield* readChanges(run, readUpTo);
  if (run.failed.length > 0) return toOutcome(run, { watermark });
  yield { kind: 'commit' };
  const after = (await run.askTotal()) ?? total;
  const difference = differenceOf(await read.warehouse.countListed(), [total, after]);
  if (difference === 0) return toOutcome(run, { watermark });
  const what = `the service counts ${formatNumber(Math.abs(difference), 'follow-up')} ${difference > 0 ? 'more' : 'fewer'} than are stored`;
  const waitMs = Math.max(COMPLETE_READ_MS, COMPLETE_READ_FACTOR * tookMs) - (agoMs ?? Infinity);
  if (difference === knownDifference) notes.push(`${what}, as after the last complete read`);
  else if (read.trigger === 'schedule' && waitMs > 0)
    notes.push(`${what}: everything is read again in ${formatDuration(waitMs)}`);
  else {
    notes.push(`${what}: everything was read again`);
    return yield* readEverything(run, watermark);
  }
  return toOutcome(run, { watermark });
}

/** A service may refuse to send the number that people see. Its refusal is remembered like that of a method. */
const DISPLAY_ID = 'followup_display_id';

export async function* readFollowups(read: ReadRequest): Steps<ReadOutcome> {
  const method = `${read.stream.method} with ${DISPLAY_ID}`;
  if (!isLeftAlone((await read.warehouse.readOptionalMethods()).get(method))) {
    try {
      return yield* readRun(createFollowupRun(read, { [DISPLAY_ID]: true }));
    } catch (error) {
      if (!(error instanceof SafetySyncError) || error.code !== 'parameter_unexpected') throw error;
      // Begun again without it: what was yielded so far is right.
      yield writes({ kind: 'methods', results: [{ method, code: error.code }] });
    }
  }
  return yield* readRun(createFollowupRun(read, {}));
}

async function* readRun(run: FollowupRun): Steps<ReadOutcome> {
  const { read } = run;
  const { kind, filters, state } = read;
  const { watermark } = state;
  if (filters !== undefined) {
    yield* walk(run, WHOLE_TIME, { filters });
    return toOutcome(run, {});
  }
  if (kind === 'backfill' || (kind === 'sync' && watermark === null)) return yield* readPlanned(run);
  const readUpTo = watermark === null ? null : yield* readChanges(run, watermark);
  if (kind === 'reconcile' || readUpTo === null) return yield* readEverything(run, readUpTo);
  yield* retryFailed(run);
  // While a slice is open the rows are known to differ.
  if (run.failed.length > 0) return toOutcome(run, { watermark: readUpTo });
  return yield* readDrift(run, readUpTo);
}
