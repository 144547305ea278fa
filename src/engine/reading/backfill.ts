/**
 * Reads every follow-up in disjoint slices of creation time with a ledger: the first sync, and `backfill`.
 * A slice continues where it was cut off; records that were stored are not requested again. See docs/design.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SafetySyncError } from '../../shared/errors.ts';
import { withTimeout } from '../../shared/time.ts';
import type { BackfillPlan, Hole, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { type MadePlan, makePlan, sliceRecordsFor, toPending } from './backfill-plan.ts';
import { type Backfill, MOST_HALVINGS, type OpenHole, readSlice } from './backfill-slice.ts';
import { FAILING_TIME, isWholeTime, WHOLE_TIME } from './creation-slice.ts';
import { toIncomplete } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { createSliceReader, type SliceReader } from './slice-reader.ts';
import { records, type RecordsStep, type Steps } from './step.ts';

interface BackfillAsked {
  readonly range: TimeSlice;
  readonly restart: boolean;
  /** The watermark that the stream has. */
  readonly watermarkMs: number | null;
}

interface StoredBackfill {
  readonly plan: BackfillPlan;
  /** Newest first. */
  readonly slices: readonly LedgerSlice[];
}

interface BackfillOutcome {
  readonly plan: BackfillPlan;
  /** The ledger of an earlier attempt was continued. */
  readonly isResumed: boolean;
  /** Slices that could not be read completely; everything else is stored. */
  readonly failure: SafetySyncError | null;
  /** Ranges that were left out. */
  readonly holes: readonly OpenHole[];
}

export const isOpen = (slice: LedgerSlice): boolean => slice.status !== 'done';

/** A slice that failed is read from its beginning, because no sync has read the changes of its records since. */
export const toOpen = (slice: LedgerSlice): LedgerSlice =>
  slice.status === 'failed' || slice.failures > 0
    ? toPending(slice, slice.failures)
    : { ...slice, status: 'pending' };

/**
 * A slice that failed in an earlier run was halved then, and is halved no further: if the totals of all slices are wrong,
 * each run would send eight times as many requests as the one before. A hole was not halved.
 */
const halvingsOf = ({ status, failures }: LedgerSlice): number =>
  status === 'failed' && failures === 0 ? MOST_HALVINGS : 0;

const isWithin = (slice: TimeSlice, other: TimeSlice): boolean =>
  slice !== other && slice.fromMs >= other.fromMs && slice.toMs <= other.toMs;

const isSameRange = (plan: BackfillPlan, range: TimeSlice): boolean =>
  plan.fromMs === range.fromMs && plan.toMs === range.toMs;

/** Every slice is stored, but the run ended before it stored the watermark of its plan. */
const isUnclosed = (plan: BackfillPlan, stateMs: number | null): boolean =>
  isWholeTime(plan) && plan.watermark !== null && (stateMs === null || stateMs < plan.watermark.ms);

/**
 * Whether a backfill continues an interrupted one; used by the run and by its forecast. A slice with a hole does not count
 * as interrupted.
 */
export function isResumable(
  { plan, slices }: StoredBackfill,
  { range, restart, watermarkMs }: BackfillAsked,
): boolean {
  // A plan of everything without a watermark is not continued, because the time from which it lacks changes is unknown.
  const isTimed = !isWholeTime(plan) || plan.watermark !== null;
  return (
    !restart &&
    isTimed &&
    isSameRange(plan, range) &&
    (isUnclosed(plan, watermarkMs) || slices.some((slice) => isOpen(slice) && slice.failures === 0))
  );
}

function createBackfill(reader: SliceReader, made: Omit<MadePlan, 'isRead'>): Backfill {
  const { plan, sliceRecords, total = null } = made;
  // A hole that a sync has left out within an open slice is read with that slice.
  const slices = made.slices.filter(
    (slice) => slice.failures === 0 || !made.slices.some((other) => isOpen(other) && isWithin(slice, other)),
  );
  const open = slices.filter(isOpen).map((slice) => ({ slice: toOpen(slice), halvings: halvingsOf(slice) }));
  const done = slices.filter((slice) => !isOpen(slice));
  const count = (some: readonly LedgerSlice[]) => some.reduce((sum, slice) => sum + slice.records, 0);
  return {
    plan,
    reader,
    sliceRecords,
    queue: open,
    failures: [],
    holes: [],
    isTopOpen: plan.toMs === Infinity,
    // Slices that overlap show a record twice.
    seen: slices.some(({ toMs }, at) => toMs > (slices[at - 1]?.fromMs ?? Infinity)) ? Infinity : count(done),
    undated: new Set(),
    topMs: Math.max(...slices.map((slice) => slice.toMs)),
    bottomMs: Math.min(...slices.map((slice) => slice.fromMs)),
    progress: {
      records: count([...done, ...open.map(({ slice }) => slice)]),
      total,
      slicesDone: done.length,
    },
  };
}

/** Continues a backfill that was cut off, if it has the same range; else begins a new one. */
export async function* readBackfill(
  read: ReadRequest,
  { range = WHOLE_TIME, restart = false }: Pick<ReadRequest, 'range' | 'restart'>,
): Steps<BackfillOutcome> {
  const { stream, settings, state, warehouse } = read;
  const stop = new AbortController();
  const service = { ...read.service, signal: AbortSignal.any([read.service.signal, stop.signal]) };
  const reader = createSliceReader({ stream, service });
  const stored = await warehouse.readLedger();
  const isResumed =
    stored !== undefined && isResumable(stored, { range, restart, watermarkMs: state.watermark?.ms ?? null });
  const made: MadePlan = isResumed
    ? {
        ...stored,
        total: await reader.fetchTotal(range),
        isRead: false,
        sliceRecords: sliceRecordsFor(settings.sliceConcurrency, reader.pageSize),
      }
    : yield* makePlan(read, range, reader);
  const backfill = createBackfill(reader, made);
  yield { ...records([]), progress: { ...backfill.progress } };
  try {
    yield* readSideBySide({
      width: settings.sliceConcurrency,
      next: () => {
        const work = backfill.queue.shift();
        return work === undefined ? undefined : readSlice(backfill, work);
      },
      abort: () => stop.abort(),
    });
    if (!made.isRead && backfill.failures.length === 0) yield* readUnseen(backfill);
  } finally {
    // A consumer that stops in the middle ends the requests.
    stop.abort();
  }
  return { plan: made.plan, isResumed, failure: joinHoleFailures(backfill), holes: backfill.holes };
}

function joinHoleFailures({ failures: [first, ...others] }: Backfill): SafetySyncError | null {
  const more = others.length === 0 ? '' : ` (and ${others.length} more slices)`;
  return first === undefined ? null : new SafetySyncError(first.code, first.message + more, { cause: first });
}

/** Reads ranges that earlier runs left out. Returns the ranges for which the service still fails. */
export async function* retryHoles(
  read: ReadRequest,
  holes: readonly Hole[],
): Steps<Pick<BackfillOutcome, 'holes' | 'failure'>> {
  const backfill = createBackfill(createSliceReader(read), {
    plan: { ...WHOLE_TIME, watermark: null },
    slices: holes.map(({ slice }) => slice),
    sliceRecords: Infinity,
    total: undefined,
  });
  const all = { ...backfill, topMs: FAILING_TIME.toMs, bottomMs: FAILING_TIME.fromMs };
  for (let work = all.queue.shift(); work !== undefined; work = all.queue.shift()) {
    // Without progress, because progress belongs to a backfill.
    for await (const { kind, records: list, about, writes = [] } of readSlice(all, work)) {
      yield { kind, records: list, about, writes };
    }
  }
  return { holes: all.holes, failure: joinHoleFailures(all) };
}

/**
 * Compares the records of all slices with the total of the plan's range, and reads the range by page numbers where that is
 * higher. The watermark moves only afterwards, so a worker that is killed before repeats it.
 */
async function* readUnseen(backfill: Backfill): Steps {
  const { plan, reader, undated, topMs, seen, failures, holes } = backfill;
  const known = { topMs, records: seen, undated: undated.size };
  try {
    // An empty list of writes, because only a step with such a list may be followed by a commit.
    for await (const list of reader.readUnseen(plan, known, holes.length > 0))
      yield { ...records(list), writes: [] };
  } catch (error) {
    failures.push(toIncomplete(error));
  }
}

type Reader = AsyncGenerator<RecordsStep, void, undefined>;
type Result =
  | { readonly reader: Reader; readonly step: IteratorResult<RecordsStep, void> }
  | { readonly reader: Reader; readonly error: unknown };

interface SideBySide {
  /** Readers at one time. */
  readonly width: number;
  /** The next reader to begin; undefined: there is none now. Called again whenever one has ended. */
  readonly next: () => Reader | undefined;
  /** Ends the requests of all readers, because their results are not needed any more. */
  readonly abort: () => void;
}

/** How often the `idle` step is repeated while all readers wait. */
const IDLE_MS = 100;

/**
 * Yields the steps of several readers in the order of their arrival. Each reader is one step ahead of the consumer: it
 * sends requests while the steps of others are stored. After the first failure no further step is requested, but the steps
 * that are ready are still yielded. At the end all of them are committed, before a failure is thrown.
 */
export async function* readSideBySide({ width, next, abort }: SideBySide): Steps {
  const running = new Map<Reader, Promise<Result>>();
  let failure: { readonly error: unknown } | undefined;

  function advance(reader: Reader): void {
    // At the end of the map, so that the others are taken first where several have a step.
    running.delete(reader);
    running.set(
      reader,
      reader.next().then(
        (step) => ({ reader, step }),
        (error: unknown) => ({ reader, error }),
      ),
    );
  }

  for (;;) {
    while (failure === undefined && running.size < width) {
      const reader = next();
      if (reader === undefined) break;
      advance(reader);
    }
    if (running.size === 0) break;
    // A step that arrived while the last one was stored is taken first.
    let result = await Promise.race([...running.values(), nextTurn()]);
    while (result === undefined) {
      yield { kind: 'idle' };
      const waited = await withTimeout(Promise.race(running.values()), IDLE_MS);
      if (waited.inTime) result = waited.value;
    }
    running.delete(result.reader);
    if ('error' in result) {
      // Those that fail after it were aborted.
      if (failure === undefined) abort();
      failure ??= { error: result.error };
    } else if (result.step.done !== true) {
      if (failure === undefined) advance(result.reader);
      yield result.step.value;
    }
  }
  yield { kind: 'commit' };
  if (failure !== undefined) throw failure.error;
}
