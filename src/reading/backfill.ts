/**
 * Every follow-up, in disjoint slices of creation time with a ledger: the first sync, and `backfill`.
 * A slice goes on where it was cut off; what was stored is never asked for again. See docs/design.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SafetySyncError } from '../shared/errors.ts';
import type { BackfillPlan, Hole, LedgerSlice } from '../streams/state.ts';
import { makePlan, sliceRecordsFor } from './backfill-plan.ts';
import { type Backfill, type FoundHole, readSlice } from './backfill-slice.ts';
import { type CreationSlice, isWholeTime } from './creation-slice.ts';
import { FAILING_TIME } from './holes.ts';
import type { ReadRequest } from './read-request.ts';
import { createSliceReader } from './slice-reader.ts';
import { records, type RecordsStep, type Steps } from './step.ts';
import { isAnyUnseen } from './unseen.ts';

interface BackfillAsked {
  readonly range: CreationSlice;
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
  /** Parts that were left out. */
  readonly holes: readonly FoundHole[];
}

export const isOpen = (slice: LedgerSlice): boolean => slice.status !== 'done';

const isSameRange = (plan: BackfillPlan, range: CreationSlice): boolean =>
  plan.fromMs === range.fromMs && plan.toMs === range.toMs;

/** Every slice is stored, but the run ended before it could say so: a plan of everything leaves its watermark behind. */
const isUnclosed = (plan: BackfillPlan, stateMs: number | null): boolean =>
  isWholeTime(plan) && plan.watermark !== null && (stateMs === null || stateMs < plan.watermark.ms);

/** Whether a backfill goes on where an earlier one was cut off: the run and its forecast ask this alike. A hole was not cut off. */
export function isResumable(
  { plan, slices }: StoredBackfill,
  { range, restart, watermarkMs }: BackfillAsked,
): boolean {
  // A plan of everything without a watermark cannot say from when on changes are missing.
  const isTimed = !isWholeTime(plan) || plan.watermark !== null;
  return (
    !restart &&
    isTimed &&
    isSameRange(plan, range) &&
    (isUnclosed(plan, watermarkMs) || slices.some((slice) => isOpen(slice) && slice.failures === 0))
  );
}

/** Continues what was cut off, if it has the same range; else begins anew. */
export async function* readBackfill(
  read: ReadRequest,
  { range, restart }: { readonly range: CreationSlice; readonly restart: boolean },
): Steps<BackfillOutcome> {
  const { stream, settings, state, warehouse } = read;
  if (stream.readMode.kind !== 'incremental') throw new TypeError(`${stream.name} is not read in slices`);
  const { pageSize } = stream.readMode;
  const { sliceRecords = sliceRecordsFor({ readers: settings.readers, pageSize }) } = settings;
  const stop = new AbortController();
  const service = { ...read.service, signal: AbortSignal.any([read.service.signal, stop.signal]) };
  const reader = createSliceReader({ stream, service }, { pageSize, filters: {} });
  const stored = await warehouse.readLedger();
  const isResumed =
    stored !== undefined && isResumable(stored, { range, restart, watermarkMs: state.watermark?.ms ?? null });
  const { plan, slices, total, isRead } = isResumed
    ? { ...stored, total: await reader.askTotal(range), isRead: false }
    : yield* makePlan(read, { range, reader, sliceRecords });
  const open = slices.filter(isOpen);
  const backfill: Backfill = {
    method: stream.method,
    plan,
    reader,
    sliceRecords,
    queue: open.map((slice) => ({ slice: { ...slice, status: 'pending' }, halvings: 0 })),
    failures: [],
    holes: [],
    isTopOpen: plan.toMs === null,
    seen: slices.reduce((sum, slice) => sum + (isOpen(slice) ? 0 : slice.records), 0),
    undated: new Set(),
    topMs: Math.max(...slices.map((slice) => slice.toMs)),
    bottomMs: Math.min(...slices.map((slice) => slice.fromMs)),
    progress: {
      records: slices.reduce((sum, slice) => sum + slice.records, 0),
      total: total ?? null,
      slicesDone: slices.length - open.length,
    },
  };
  yield { ...records([]), progress: { ...backfill.progress } };
  try {
    yield* readSideBySide({
      width: settings.readers,
      next: () => {
        const work = backfill.queue.shift();
        return work === undefined ? undefined : readSlice(backfill, work);
      },
      abort: () => stop.abort(),
    });
    if (!isRead && backfill.failures.length === 0) yield* readUnseen(backfill);
  } finally {
    // Whoever stops in the middle ends the requests.
    stop.abort();
  }
  return { plan, isResumed, failure: joinFailures(backfill), holes: backfill.holes };
}

function joinFailures({ failures: [first, ...others] }: Backfill): SafetySyncError | null {
  const more = others.length === 0 ? '' : ` (and ${others.length} more slices)`;
  return first === undefined ? null : new SafetySyncError(first.code, first.message + more, { cause: first });
}

/** Tries parts again that were left out. Returns those that still fail. */
export async function* readHoles(
  { stream, service }: ReadRequest,
  holes: readonly Hole[],
  { pageSize }: { readonly pageSize: number },
): Steps<Pick<BackfillOutcome, 'holes' | 'failure'>> {
  const backfill: Backfill = {
    method: stream.method,
    plan: { fromMs: null, toMs: null, watermark: null },
    reader: createSliceReader({ stream, service }, { pageSize, filters: {} }),
    sliceRecords: Infinity,
    queue: holes.map(({ slice }) => ({ slice: { ...slice, status: 'pending' }, halvings: 0 })),
    failures: [],
    holes: [],
    seen: 0,
    undated: new Set(),
    topMs: FAILING_TIME.toMs,
    isTopOpen: true,
    bottomMs: FAILING_TIME.fromMs,
    progress: { records: 0, total: null, slicesDone: 0 },
  };
  for (let work = backfill.queue.shift(); work !== undefined; work = backfill.queue.shift()) {
    // Without progress: nobody waits for a backfill here.
    for await (const { kind, records: list, about, notes } of readSlice(backfill, work)) {
      yield { kind, records: list, about, ...(notes === undefined ? {} : { notes }) };
    }
  }
  return { holes: backfill.holes, failure: joinFailures(backfill) };
}

/**
 * Holds what all slices have shown against the total of the plan's range, and reads the range by page numbers where that is
 * more. The watermark moves only afterwards, so a worker that dies before the end asks again.
 */
async function* readUnseen(backfill: Backfill): Steps {
  const { plan, reader, undated, topMs, failures, holes } = backfill;
  const range = { fromMs: plan.fromMs, toMs: plan.toMs };
  // How many records a hole has is not known: then only those count that no filter shows.
  const seen = holes.length > 0 ? Infinity : backfill.seen;
  if (!(await isAnyUnseen(range, reader, { topMs, records: seen, undated: undated.size }))) return;
  try {
    // Notes, though there are none: a step with notes may be followed by a commit.
    for await (const list of reader.readByPages(range)) yield { ...records(list), notes: [] };
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'read_incomplete') throw error;
    failures.push(error);
  }
}

interface SideBySide {
  /** Readers at one time. */
  readonly width: number;
  /** The next reader to begin; undefined: there is none now. Asked again whenever one has ended. */
  readonly next: () => AsyncGenerator<RecordsStep, void, undefined> | undefined;
  /** Ends the requests of all readers, which are of no use any more. */
  readonly abort: () => void;
}

type Reader = AsyncGenerator<RecordsStep, void, undefined>;
type Result =
  | { readonly reader: Reader; readonly step: IteratorResult<RecordsStep, void> }
  | { readonly reader: Reader; readonly error: unknown };

/** While nothing comes, it is said again this often. */
const IDLE_MS = 100;

/**
 * Yields the steps in the order in which they come. Each reader is one step ahead of whoever takes them: it asks while the
 * steps of others are stored, and says so while none has anything ready. The first failure ends all: no further step is asked
 * for, what is ready is still yielded. What was yielded is committed at the end, also before a failure is thrown.
 */
export async function* readSideBySide({ width, next, abort }: SideBySide): Steps {
  const running = new Set<Reader>();
  const ready: Result[] = [];
  let wake: () => void = () => undefined;
  let failure: { readonly error: unknown } | undefined;

  function ask(reader: Reader): void {
    running.add(reader);
    const arrive = (result: Result): void => {
      running.delete(reader);
      ready.push(result);
      wake();
    };
    reader.next().then(
      (step) => arrive({ reader, step }),
      (error: unknown) => arrive({ reader, error }),
    );
  }

  /** Of a result, or of the time to say once more that none has come. */
  async function arrival(): Promise<void> {
    if (ready.length > 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, IDLE_MS);
    });
    clearTimeout(timer);
  }

  for (;;) {
    while (failure === undefined && running.size + ready.length < width) {
      const reader = next();
      if (reader === undefined) break;
      ask(reader);
    }
    // Whatever arrived while the last step was stored is taken first.
    if (ready.length === 0) await nextTurn();
    if (ready.length === 0 && running.size > 0) {
      yield { kind: 'idle' };
      await arrival();
      continue;
    }
    const result = ready.shift();
    if (result === undefined) {
      yield { kind: 'commit' };
      if (failure === undefined) return;
      throw failure.error;
    }
    if ('error' in result) {
      // Those that fail after it were aborted.
      if (failure === undefined) abort();
      failure ??= { error: result.error };
    } else if (result.step.done !== true) {
      if (failure === undefined) ask(result.reader);
      yield result.step.value;
    }
  }
}
