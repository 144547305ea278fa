/** Reads one slice of a backfill to its end, and has the ledger record how far it is stored. */
import type { Received } from '../../shared/received.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { toDone, toPending } from './backfill-plan.ts';
import { boundOr, cutEvenly, toHole } from './creation-slice.ts';
import { walkCreation, type WalkStep } from './creation-walk.ts';
import { collectUndated } from './record-fields.ts';
import type { SliceReader } from './slice-reader.ts';
import { type BackfillProgress, records, type RecordsStep } from './step.ts';

/** How often a slice that cannot be read completely is halved before it counts as failed. */
export const MOST_HALVINGS = 3;

interface Work {
  readonly slice: LedgerSlice;
  readonly halvings: number;
}

/** A range without stored records. The ledger has it, so the watermark may pass its changes. */
export interface OpenHole {
  readonly slice: TimeSlice;
  /** undefined: it was not tried in this run. */
  readonly error?: SafetySyncError;
}

/** The state that the slices of one backfill share. */
export interface Backfill {
  readonly plan: BackfillPlan;
  readonly reader: SliceReader;
  /** Records of a slice. */
  readonly sliceRecords: number;
  readonly queue: Work[];
  readonly failures: SafetySyncError[];
  /** Parts that were left out because the service fails for a record of them. */
  readonly holes: OpenHole[];
  /** Different records of the slices that are done. */
  seen: number;
  /** Names of the records without a creation time, which belong to no slice. */
  readonly undated: Set<string>;
  /** The upper end of the newest slice. */
  readonly topMs: number;
  /** The newest slice is requested without its upper end. */
  isTopOpen: boolean;
  /** The lower end of the oldest slice. */
  readonly bottomMs: number;
  readonly progress: { -readonly [Name in keyof BackfillProgress]: BackfillProgress[Name] };
}

/** The slice to request: an end of an unbounded plan is open, even if the ledger has a time for it. */
function boundsOf({ topMs, isTopOpen, plan, bottomMs }: Backfill, slice: LedgerSlice): TimeSlice {
  const isTop = isTopOpen && slice.toMs === topMs && slice.readToMs === slice.toMs;
  const isBottom = plan.fromMs === -Infinity && slice.fromMs === bottomMs;
  return { fromMs: isBottom ? -Infinity : slice.fromMs, toMs: isTop ? Infinity : slice.readToMs };
}

function toRecordsStep(
  backfill: Backfill,
  list: readonly Received[],
  writes: readonly LedgerChange[],
  slicesDone = 0,
): RecordsStep {
  backfill.progress.records += list.length;
  collectUndated(list, backfill.reader.keyField, backfill.undated);
  backfill.progress.slicesDone += slicesDone;
  return { ...records(list), writes, progress: { ...backfill.progress } };
}

/** Reads one slice to its end, or until it turns out to be too large, or to have a hole, and is replaced by smaller ones. */
export async function* readSlice(
  backfill: Backfill,
  work: Work,
): AsyncGenerator<RecordsStep, void, undefined> {
  const { reader, sliceRecords } = backfill;
  const bounds = boundsOf(backfill, work.slice);
  let state = work.slice;
  /** Records that will not be read again. */
  let finalRecords = state.records;
  const seenBefore = state.records;
  const walk = walkCreation(bounds, reader, {
    isSuspect: state.failures > 0,
    plannedToMs: state.toMs,
  });
  let next = await walk.next();
  for (; next.done !== true; next = await walk.next()) {
    if (next.value.kind === 'first') {
      const total = next.value.page.paging?.total;
      if (total !== undefined && state.expected === null) state = { ...state, expected: total };
      continue;
    }
    if (next.value.kind === 'hole') {
      yield leaveOut(backfill, { ...work, slice: state }, next.value, finalRecords);
      return;
    }
    const { records: list, remainingTo, seen } = next.value;
    state = { ...state, records: seenBefore + seen };
    if (Number.isFinite(remainingTo)) {
      const rest = (state.expected ?? 0) - state.records;
      const remaining = { fromMs: state.fromMs, toMs: remainingTo };
      const isTooLarge = rest > 2 * sliceRecords && !reader.areTotalsWrong();
      const slices = isTooLarge ? cutEvenly(remaining, Math.ceil(rest / sliceRecords)) : [];
      // More records in one millisecond than a response holds do not lower the border: then only several slices are smaller.
      const isSmaller = slices.length > (remainingTo < state.toMs ? 0 : 1);
      if (isSmaller && remainingTo > state.fromMs) {
        const newer = toDone({ fromMs: remainingTo, toMs: state.toMs }, state.records);
        const older = slices.map((one) => toPending(one, state.failures));
        yield replace(backfill, { ...work, slice: state }, [newer, ...older], list);
        return;
      }
      state = { ...state, readToMs: Math.min(state.readToMs, remainingTo) };
      finalRecords = state.records;
    }
    yield toRecordsStep(backfill, list, [{ kind: 'slice', slice: { ...state, records: finalRecords } }]);
  }
  const failure = next.value ?? (await findShortfall(backfill, state, bounds));
  if (failure === null) {
    backfill.seen += state.records;
    const done: LedgerSlice = { ...state, status: 'done', readToMs: state.fromMs };
    yield toRecordsStep(backfill, [], [{ kind: 'slice', slice: done }], 1);
    return;
  }
  const halves = cutEvenly(state, 2).map((half) => toPending(half, state.failures));
  if (work.halvings < MOST_HALVINGS && halves.length === 2 && !reader.areTotalsWrong()) {
    yield replace(backfill, { slice: state, halvings: work.halvings + 1 }, halves);
    return;
  }
  backfill.failures.push(failure);
  yield toRecordsStep(backfill, [], [{ kind: 'slice', slice: { ...state, status: 'failed' } }]);
}

/** Fewer distinct records than were announced when the slice was begun: records were deleted, or are missing. */
async function findShortfall(
  { reader }: Backfill,
  state: LedgerSlice,
  bounds: TimeSlice,
): Promise<SafetySyncError | null> {
  if (state.expected === null || state.records >= state.expected) return null;
  const total = (await reader.fetchTotal({ fromMs: bounds.fromMs, toMs: state.toMs })) ?? 0;
  if (state.records >= total) return null;
  return reader.incompleteOf(state, `${total} records were announced, ${state.records} delivered`);
}

/** Puts smaller slices in the place of one, newest first, in the ledger and, those that are not read, at the front of the queue. */
function replace(
  backfill: Backfill,
  { slice, halvings }: Work,
  smaller: readonly LedgerSlice[],
  list: readonly Received[] = [],
): RecordsStep {
  const pieces = smaller.filter(({ fromMs, toMs }) => fromMs < toMs);
  const open = pieces.filter(({ status }) => status === 'pending');
  backfill.queue.unshift(...open.map((one) => ({ slice: one, halvings })));
  for (const { status, records: count } of smaller) if (status === 'done') backfill.seen += count;
  return toRecordsStep(backfill, list, [{ kind: 'cut', slice, pieces }]);
}

/** The range after the hole was read, the hole is left out, and the range before it is next. */
function leaveOut(
  backfill: Backfill,
  { slice, halvings }: Work,
  { range, error }: Extract<WalkStep, { kind: 'hole' }>,
  finalRecords: number,
): RecordsStep {
  const hole = { fromMs: boundOr(range.fromMs, slice.fromMs), toMs: boundOr(range.toMs, slice.toMs) };
  if (hole.fromMs >= slice.toMs) {
    // Newer than the plan: the slice is requested once more, up to the beginning of the plan.
    backfill.isTopOpen = false;
    backfill.holes.push({ slice: toHole(range), error });
    backfill.queue.unshift({ slice: { ...slice, records: finalRecords }, halvings });
    return toRecordsStep(backfill, [], [{ kind: 'hole', slice: toHole(range) }]);
  }
  // Records newer than the plan are in no hole of the ledger, so the read of changes must not leave them out.
  backfill.holes.push({ slice: hole, error });
  return replace(backfill, { slice, halvings }, [
    toDone({ fromMs: hole.toMs, toMs: slice.toMs }, slice.records),
    { ...toPending(hole, slice.failures + 1), status: 'failed' },
    toPending({ fromMs: slice.fromMs, toMs: hole.fromMs }, slice.failures),
  ]);
}
