/** Reads one slice of a backfill to its end, with a note for the ledger of how far it is stored. */
import type { Received } from '../shared/received.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { cutEvenly, toLedgerSlice } from './backfill-plan.ts';
import type { CreationSlice } from './creation-slice.ts';
import { walkCreation, type WalkStep } from './creation-walk.ts';
import { toHole } from './holes.ts';
import type { SliceReader } from './slice-reader.ts';
import { type BackfillProgress, records, type RecordsStep } from './step.ts';
import { collectUndated } from './unseen.ts';

/** A slice that cannot be read completely is halved this often before it counts as failed. */
const MOST_HALVINGS = 3;

interface Work {
  readonly slice: LedgerSlice;
  readonly halvings: number;
}

/** A part that was left out in this run. */
export interface FoundHole {
  readonly slice: TimeSlice;
  readonly error: SafetySyncError;
}

/** What the slices of one backfill share. */
export interface Backfill {
  readonly method: string;
  readonly plan: BackfillPlan;
  readonly reader: SliceReader;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
  readonly queue: Work[];
  readonly failures: SafetySyncError[];
  /** Parts that were left out because the service fails for a record of them. */
  readonly holes: FoundHole[];
  /** Different records of the slices that are done. */
  seen: number;
  /** Names of the records that tell no creation time, which are of no slice. */
  readonly undated: Set<string>;
  /** The upper end of the newest slice. */
  readonly topMs: number;
  /** The newest slice is asked for without its upper end. */
  isTopOpen: boolean;
  /** The lower end of the oldest slice. */
  readonly bottomMs: number;
  readonly progress: { -readonly [Name in keyof BackfillProgress]: BackfillProgress[Name] };
}

type SliceSteps = AsyncGenerator<RecordsStep, void, undefined>;

/** What to ask for: the ends of an unbounded plan are open, whatever the ledger says of them. */
function boundsOf(
  { topMs, isTopOpen, plan, bottomMs }: Pick<Backfill, 'topMs' | 'isTopOpen' | 'plan' | 'bottomMs'>,
  slice: LedgerSlice,
): CreationSlice {
  const isTop = isTopOpen && slice.toMs === topMs && slice.readToMs === slice.toMs;
  const isBottom = plan.fromMs === null && slice.fromMs === bottomMs;
  return { fromMs: isBottom ? null : slice.fromMs, toMs: isTop ? null : slice.readToMs };
}

function toStep(
  backfill: Backfill,
  list: readonly Received[],
  notes: readonly LedgerChange[],
  slicesDone = 0,
): RecordsStep {
  backfill.progress.records += list.length;
  collectUndated(list, backfill.reader.keyField, backfill.undated);
  backfill.progress.slicesDone += slicesDone;
  return { ...records(list), notes, progress: { ...backfill.progress } };
}

/** Reads one slice to its end, or until it turns out to be too large, or to have a hole, and is cut into smaller ones. */
export async function* readSlice(backfill: Backfill, work: Work): SliceSteps {
  const { reader, sliceRecords } = backfill;
  const bounds = boundsOf(backfill, work.slice);
  let state = work.slice;
  /** Records that will not be read again. */
  let finalRecords = state.records;
  const seenBefore = state.records;
  const walk = walkCreation(bounds, reader, { isSuspect: state.failures > 0 });
  let next = await walk.next();
  for (; next.done !== true; next = await walk.next()) {
    if (next.value.kind === 'first') {
      const total = next.value.page.paging?.total;
      if (total !== undefined && state.expected === null) state = { ...state, expected: total };
      continue;
    }
    if (next.value.kind === 'hole') {
      yield leaveOut(backfill, { ...work, slice: state, finalRecords }, next.value);
      return;
    }
    const { records: list, remainingTo, seen } = next.value;
    state = { ...state, records: seenBefore + seen };
    const rest = state.expected === null ? 0 : state.expected - state.records;
    if (typeof remainingTo === 'number' && rest > 2 * sliceRecords) {
      const parts = cutEvenly({ fromMs: state.fromMs, toMs: remainingTo }, Math.ceil(rest / sliceRecords));
      if (isCuttable(state, remainingTo, parts)) {
        yield cutRemainder(backfill, { state, list, remainingTo, parts, halvings: work.halvings });
        return;
      }
    }
    if (typeof remainingTo === 'number') {
      state = { ...state, readToMs: Math.min(state.readToMs, remainingTo) };
      finalRecords = state.records;
    }
    yield toStep(backfill, list, [{ kind: 'slice', slice: { ...state, records: finalRecords } }]);
  }
  const failure = next.value ?? (await findShortfall(backfill, state, bounds));
  if (failure !== null) {
    yield giveUpOrHalve(backfill, { ...work, slice: state }, failure);
    return;
  }
  const done: LedgerSlice = { ...state, status: 'done', readToMs: state.fromMs };
  backfill.seen += done.records;
  yield toStep(backfill, [], [{ kind: 'slice', slice: done }], 1);
}

/** Fewer distinct records than were announced when the slice was begun: deletions explain it, or nothing does. */
async function findShortfall(
  { method, reader }: Backfill,
  state: LedgerSlice,
  bounds: CreationSlice,
): Promise<SafetySyncError | null> {
  if (state.expected === null || state.records >= state.expected) return null;
  const total = (await reader.askTotal({ fromMs: bounds.fromMs, toMs: state.toMs })) ?? 0;
  if (state.records >= total) return null;
  const why = `${total} records were announced, ${state.records} delivered`;
  return new SafetySyncError('read_incomplete', `${method}: ${why}`);
}

/** A slice whose first millisecond holds more than a response shows no new border: cutting it must at least divide it. */
function isCuttable(state: LedgerSlice, remainingTo: number, parts: readonly TimeSlice[]): boolean {
  return remainingTo > state.fromMs && (remainingTo < state.toMs || parts.length > 1);
}

/** The newest part of the slice is stored as a slice of its own; the rest becomes slices of the usual size. */
function cutRemainder(
  backfill: Backfill,
  cut: {
    readonly state: LedgerSlice;
    readonly list: readonly Received[];
    readonly remainingTo: number;
    readonly parts: readonly TimeSlice[];
    readonly halvings: number;
  },
): RecordsStep {
  const { state, list, remainingTo, parts } = cut;
  const seen = state.records;
  backfill.seen += seen;
  const done: LedgerSlice = {
    fromMs: remainingTo,
    toMs: state.toMs,
    status: 'done',
    readToMs: remainingTo,
    expected: seen,
    records: seen,
    failures: 0,
  };
  const isNewestPartEmpty = remainingTo === state.toMs;
  backfill.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: cut.halvings })));
  return toStep(
    backfill,
    list,
    isNewestPartEmpty
      ? [{ kind: 'cut', slice: state, parts }]
      : [
          { kind: 'cut', slice: state, parts: [done, ...parts] },
          { kind: 'slice', slice: done },
        ],
  );
}

/** The hole, and what is newer and older than it, become slices of their own: the newer one was read, the older one is next. */
function leaveOut(
  backfill: Backfill,
  { slice, halvings, finalRecords }: Work & { readonly finalRecords: number },
  { part, error }: Extract<WalkStep, { kind: 'hole' }>,
): RecordsStep {
  const hole = { fromMs: part.fromMs ?? slice.fromMs, toMs: part.toMs ?? slice.toMs };
  backfill.holes.push({ slice: toHole(part), error });
  if (hole.fromMs >= slice.toMs) {
    // Newer than the plan: the slice is asked for once more, up to the beginning of the plan.
    backfill.isTopOpen = false;
    backfill.queue.unshift({ slice: { ...slice, records: finalRecords }, halvings });
    return toStep(backfill, [], [{ kind: 'hole', slice: toHole(part) }]);
  }
  const newer = { fromMs: hole.toMs, toMs: slice.toMs };
  const older = { fromMs: slice.fromMs, toMs: hole.fromMs };
  const done: LedgerSlice = {
    ...toLedgerSlice(newer),
    status: 'done',
    readToMs: newer.fromMs,
    expected: slice.records,
    records: slice.records,
  };
  const failed: LedgerSlice = { ...toLedgerSlice(hole), status: 'failed', failures: slice.failures + 1 };
  const isAny = ({ fromMs, toMs }: TimeSlice): boolean => fromMs < toMs;
  backfill.seen += slice.records;
  if (isAny(older)) backfill.queue.unshift({ slice: toLedgerSlice(older), halvings });
  const parts = [newer, hole, older].filter(isAny);
  return toStep(
    backfill,
    [],
    [
      { kind: 'cut', slice, parts },
      ...(isAny(newer) ? [{ kind: 'slice', slice: done } as const] : []),
      { kind: 'slice', slice: failed },
    ],
  );
}

function giveUpOrHalve(backfill: Backfill, { slice, halvings }: Work, failure: SafetySyncError): RecordsStep {
  const parts = cutEvenly(slice, 2);
  if (halvings < MOST_HALVINGS && parts.length === 2) {
    backfill.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: halvings + 1 })));
    return toStep(backfill, [], [{ kind: 'cut', slice, parts }]);
  }
  backfill.failures.push(failure);
  return toStep(backfill, [], [{ kind: 'slice', slice: { ...slice, status: 'failed' } }]);
}
