/**
 * Every follow-up, in disjoint slices of creation time with a ledger: the first sync, and `backfill`.
 * A slice goes on where it was cut off; what was stored is never asked for again. See docs/design.md.
 */
import { SafetySyncError } from '../shared/errors.ts';
import type { BackfillRange, ReadRequest } from '../reading/read-request.ts';
import { createSliceReader } from '../reading/slice-reader.ts';
import { records, type Steps } from '../reading/step.ts';
import type { BackfillPlan, LedgerSlice } from '../streams/state.ts';
import { sliceRecordsFor } from './cut-slices.ts';
import { makePlan } from './make-plan.ts';
import { readSideBySide } from './side-by-side.ts';
import { type Backfill, readSlice } from './slice.ts';

interface BackfillAsked {
  readonly range: BackfillRange;
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
}

export const isOpen = (slice: LedgerSlice): boolean => slice.status !== 'done';

const isSameRange = (plan: BackfillPlan, range: BackfillRange): boolean =>
  plan.fromMs === range.fromMs && plan.toMs === range.toMs;

/** Every slice is stored, but the run ended before it could say so: a plan of everything leaves its watermark behind. */
const isUnclosed = ({ fromMs, toMs, watermark }: BackfillPlan, stateMs: number | null): boolean =>
  fromMs === null && toMs === null && watermark !== null && (stateMs === null || stateMs < watermark.ms);

/** Whether a backfill goes on where an earlier one was cut off: the run and its forecast ask this alike. */
export function isResumable(
  { plan, slices }: StoredBackfill,
  { range, restart, watermarkMs }: BackfillAsked,
): boolean {
  return !restart && isSameRange(plan, range) && (isUnclosed(plan, watermarkMs) || slices.some(isOpen));
}

/** Continues what was cut off, if it has the same range; else begins anew. */
export async function* readBackfill(
  read: ReadRequest,
  { range, restart }: { readonly range: BackfillRange; readonly restart: boolean },
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
  const { plan, slices, total } = isResumed
    ? { ...stored, total: await reader.askTotal({ from: range.fromMs, to: range.toMs }) }
    : yield* makePlan(read, { range, reader, sliceRecords });
  const open = slices.filter(isOpen);
  const backfill: Backfill = {
    method: stream.method,
    plan,
    reader,
    sliceRecords,
    queue: open.map((slice) => ({ slice: { ...slice, status: 'pending' }, halvings: 0 })),
    failures: [],
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
  } finally {
    // Whoever stops in the middle ends the requests.
    stop.abort();
  }
  const [first, ...others] = backfill.failures;
  const more = others.length === 0 ? '' : ` (and ${others.length} more slices)`;
  const failure =
    first === undefined ? null : new SafetySyncError(first.code, first.message + more, { cause: first });
  return { plan, isResumed, failure };
}
