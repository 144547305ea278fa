/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { Hole, ServiceTime, TimeSlice } from '../streams/state.ts';
import { readBackfill, readHoles } from './backfill.ts';
import type { FoundHole } from './backfill-slice.ts';
import { describeSlice, isWholeTime, WHOLE_TIME } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import { toHole, toPart } from './holes.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import type { ReadRequest } from './read-request.ts';
import { createSliceReader } from './slice-reader.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';
import {
  type FirstResponse,
  laterWatermark,
  nextWatermark,
  readFirstResponse,
  readFrom,
  updatedAfter,
} from './watermark.ts';

/** A first sync that took longer reads what changed meanwhile before it ends. */
const LONG_MS = MINUTE_MS;

interface ReadWalk {
  /** What is missing, but for the holes; null: nothing. */
  readonly failure: SafetySyncError | null;
  readonly first: FirstResponse | undefined;
  /** Left out now. */
  readonly holes: readonly FoundHole[];
}

/** Yields the records of a walk; returns what it missed, if anything, and what its first response told. */
async function* readWalk(
  { stream, service }: ReadRequest,
  {
    pageSize,
    filters,
    isTooLate = () => false,
    without = [],
  }: {
    readonly pageSize: number;
    readonly filters: Readonly<Record<string, number>>;
    /** The first response tells that the walk has to begin elsewhere. */
    readonly isTooLate?: (first: FirstResponse) => boolean;
    /** Left out by earlier runs. */
    readonly without?: readonly TimeSlice[];
  },
): Steps<ReadWalk> {
  const reader = createSliceReader({ stream, service }, { pageSize, filters });
  const walk = walkCreation(WHOLE_TIME, reader, { without });
  const holes: FoundHole[] = [];
  let first: FirstResponse | undefined;
  for (;;) {
    const next = await walk.next();
    if (next.done === true) return { failure: next.value, first, holes };
    if (next.value.kind === 'first') first = readFirstResponse(next.value.page, service.clock.now());
    else if (next.value.kind === 'records') yield records(next.value.records);
    else {
      const slice = toHole(next.value.part);
      holes.push({ slice, error: next.value.error });
      yield { ...records([]), notes: [{ kind: 'hole', slice }] };
    }
    if (next.value.kind === 'records' && first !== undefined && isTooLate(first))
      return { failure: null, first, holes };
  }
}

interface Changes {
  /** What is missing; null: everything was read. */
  readonly failure: SafetySyncError | null;
  readonly watermark: ServiceTime | null;
  readonly note: string | null;
  /** Parts of which nothing is stored: the ledger has them, so the watermark may pass what changed there. */
  readonly holes: readonly OpenHole[];
}

interface OpenHole {
  readonly slice: TimeSlice;
  /** undefined: it was not tried in this run. */
  readonly error?: SafetySyncError;
}

/** Reads what changed since the watermark; returns the next one. */
async function* readChanges(
  read: ReadRequest,
  watermark: ServiceTime,
  { pageSize, without = [] }: { readonly pageSize: number; readonly without?: readonly TimeSlice[] },
): Steps<Changes> {
  for (let fromMs = watermark.ms; ;) {
    const earlierOf = ({ clock }: FirstResponse) => Math.min(fromMs, readFrom(watermark, clock));
    const { failure, first, holes } = yield* readWalk(read, {
      pageSize,
      without,
      filters: { updated_after: updatedAfter(fromMs, read.settings.followupsOverlapMs) },
      isTooLate: (one) => earlierOf(one) < fromMs,
    });
    const earlierMs = first === undefined ? fromMs : earlierOf(first);
    if (failure === null && earlierMs < fromMs) {
      // The first response told that the service's clock went back: what it changed since then was not asked for.
      fromMs = earlierMs;
      continue;
    }
    const note =
      fromMs === watermark.ms
        ? null
        : `the service’s clock went back, or ours jumped ahead: read again from ${new Date(fromMs).toISOString()}`;
    const next = first === undefined ? watermark : nextWatermark(watermark, first);
    return { failure, watermark: next, note, holes };
  }
}

/** A run is no success while a hole is open, even when it is not yet time to try that again. */
function toFailure({ method }: StreamDefinition, holes: readonly OpenHole[]): SafetySyncError | null {
  const [first] = holes;
  if (first === undefined) return null;
  const cause = holes.find(({ error }) => error !== undefined)?.error;
  const more = holes.length === 1 ? '' : ` (and ${holes.length - 1} more ranges)`;
  const why = cause === undefined ? 'left out since an earlier run, to be tried again later' : cause.message;
  const message = `${method}, created ${describeSlice(toPart(first.slice))}${more}: ${why}`;
  return new SafetySyncError('range_unreadable', message, { cause, requestId: cause?.requestId });
}

function toOutcome(
  { stream }: ReadRequest,
  { failure, watermark, note, holes }: Changes & { readonly holes: readonly OpenHole[] },
): ReadOutcome {
  // What came is stored; what did not come must be asked for again, so the watermark stays.
  const state = failure === null ? { watermark } : {};
  return { kind: 'read', covered: null, state, note, failure: failure ?? toFailure(stream, holes) };
}

/** The first sync: the same mechanism as a backfill of everything, and continued like one. */
async function* readFirstSync(read: ReadRequest, pageSize: number): Steps<ReadOutcome> {
  const { clock } = read.service;
  const startedMs = clock.monotonicMs();
  const { plan, isResumed, failure, holes } = yield* readBackfill(read, {
    range: WHOLE_TIME,
    restart: false,
  });
  const tookLong = clock.monotonicMs() - startedMs > LONG_MS;
  if (failure !== null || plan.watermark === null || !(isResumed || tookLong)) {
    return toOutcome(read, { failure, watermark: plan.watermark, note: null, holes });
  }
  const without = holes.map(({ slice }) => slice);
  const changes = yield* readChanges(read, plan.watermark, { pageSize, without });
  return toOutcome(read, { ...changes, holes: [...holes, ...changes.holes] });
}

/** What changed, and what earlier runs had to leave out: by hand at once, else further and further apart. */
async function* readSync(read: ReadRequest, watermark: ServiceTime, pageSize: number): Steps<ReadOutcome> {
  const known = await read.warehouse.readHoles();
  const without = known.map(({ slice }) => slice);
  const changes = yield* readChanges(read, watermark, { pageSize, without });
  if (changes.failure !== null) return toOutcome(read, changes);
  const isTried = ({ isDue }: Hole): boolean => isDue || read.isScheduled !== true;
  const tried = yield* readHoles(read, known.filter(isTried), { pageSize });
  const waiting = known.filter((hole) => !isTried(hole));
  const holes = [...tried.holes, ...changes.holes, ...waiting];
  return toOutcome(read, { ...changes, failure: tried.failure, holes });
}

/** A backfill of everything knows all that the service had changed when it began, any other one does not. */
async function* readAsked(read: ReadRequest): Steps<ReadOutcome> {
  const { range, restart, state } = read;
  const { plan, failure, holes } = yield* readBackfill(read, { range, restart });
  const watermark = isWholeTime(range) ? laterWatermark(state.watermark, plan.watermark) : state.watermark;
  return toOutcome(read, { failure, watermark, note: null, holes });
}

/**
 * Reconciliation. First what an incremental read would find, so that everything else which differs from here on is
 * something that incremental reads had missed, or a deletion, of which they never hear.
 */
async function* readEverything(read: ReadRequest, pageSize: number): Steps<ReadOutcome> {
  const before = read.state.watermark;
  const changes = before === null ? null : yield* readChanges(read, before, { pageSize });
  if (changes !== null) {
    if (changes.failure !== null) return toOutcome(read, changes);
    yield { kind: 'commit' };
  }
  // Holes are asked for like everything else: only what was seen as a whole says what was deleted.
  const { failure, first, holes } = yield* readWalk(read, { pageSize, filters: {} });
  const stored = changes?.watermark ?? null;
  const watermark = first === undefined ? stored : nextWatermark(stored, first);
  return {
    kind: 'read',
    covered: failure === null && holes.length === 0 ? { parts: null } : null,
    state: failure === null ? { watermark } : {},
    note: changes?.note ?? null,
    failure: failure ?? toFailure(read.stream, holes),
    ...(stored === null ? {} : { repairUpToMs: stored.ms }),
  };
}

export async function* readIncremental(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, state, kind } = read;
  if (stream.readMode.kind !== 'incremental') throw new TypeError(`${stream.name} is not incremental`);
  const { pageSize } = stream.readMode;
  switch (kind) {
    case 'backfill':
      return yield* readAsked(read);
    case 'reconcile':
      return yield* readEverything(read, pageSize);
    case 'sync':
      return state.watermark === null
        ? yield* readFirstSync(read, pageSize)
        : yield* readSync(read, state.watermark, pageSize);
  }
}
