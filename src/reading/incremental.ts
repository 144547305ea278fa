/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import type { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { ServiceTime } from '../streams/state.ts';
import { readBackfill } from './backfill.ts';
import { isWholeTime, WHOLE_TIME } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
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

/** Yields the records of a walk; returns what it missed, if anything, and what its first response told. */
async function* readWalk(
  { stream, service }: ReadRequest,
  {
    pageSize,
    filters,
    isTooLate = () => false,
  }: {
    readonly pageSize: number;
    readonly filters: Readonly<Record<string, number>>;
    /** The first response tells that the walk has to begin elsewhere. */
    readonly isTooLate?: (first: FirstResponse) => boolean;
  },
): Steps<{ readonly failure: SafetySyncError | null; readonly first: FirstResponse | undefined }> {
  const walk = walkCreation(WHOLE_TIME, createSliceReader({ stream, service }, { pageSize, filters }));
  let first: FirstResponse | undefined;
  for (;;) {
    const next = await walk.next();
    if (next.done === true) return { failure: next.value, first };
    if (next.value.kind === 'first') first = readFirstResponse(next.value.page, service.clock.now());
    else yield records(next.value.records);
    if (next.value.kind === 'records' && first !== undefined && isTooLate(first))
      return { failure: null, first };
  }
}

interface Changes {
  /** What is missing; null: everything was read. */
  readonly failure: SafetySyncError | null;
  readonly watermark: ServiceTime | null;
  readonly note: string | null;
}

/** Reads what changed since the watermark; returns the next one. */
async function* readChanges(read: ReadRequest, watermark: ServiceTime, pageSize: number): Steps<Changes> {
  for (let fromMs = watermark.ms; ;) {
    const earlierOf = ({ clock }: FirstResponse) => Math.min(fromMs, readFrom(watermark, clock));
    const { failure, first } = yield* readWalk(read, {
      pageSize,
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
    return { failure, watermark: next, note };
  }
}

function toOutcome({ failure, watermark, note }: Changes): ReadOutcome {
  // What came is stored; what did not come must be asked for again, so the watermark stays.
  return { kind: 'read', covered: null, state: failure === null ? { watermark } : {}, note, failure };
}

/** The first sync: the same mechanism as a backfill of everything, and continued like one. */
async function* readFirstSync(read: ReadRequest, pageSize: number): Steps<ReadOutcome> {
  const { clock } = read.service;
  const startedMs = clock.monotonicMs();
  const { plan, isResumed, failure } = yield* readBackfill(read, { range: WHOLE_TIME, restart: false });
  const tookLong = clock.monotonicMs() - startedMs > LONG_MS;
  if (failure !== null || plan.watermark === null || !(isResumed || tookLong)) {
    return toOutcome({ failure, watermark: plan.watermark, note: null });
  }
  return toOutcome(yield* readChanges(read, plan.watermark, pageSize));
}

/** A backfill of everything knows all that the service had changed when it began, any other one does not. */
async function* readAsked(read: ReadRequest): Steps<ReadOutcome> {
  const { range, restart, state } = read;
  const { plan, failure } = yield* readBackfill(read, { range, restart });
  const watermark = isWholeTime(range) ? laterWatermark(state.watermark, plan.watermark) : state.watermark;
  return toOutcome({ failure, watermark, note: null });
}

/**
 * Reconciliation. First what an incremental read would find, so that everything else which differs from here on is
 * something that incremental reads had missed, or a deletion, of which they never hear.
 */
async function* readEverything(read: ReadRequest, pageSize: number): Steps<ReadOutcome> {
  const before = read.state.watermark;
  const changes = before === null ? null : yield* readChanges(read, before, pageSize);
  if (changes !== null) {
    if (changes.failure !== null) return toOutcome(changes);
    yield { kind: 'commit' };
  }
  const { failure, first } = yield* readWalk(read, { pageSize, filters: {} });
  const stored = changes?.watermark ?? null;
  const watermark = first === undefined ? stored : nextWatermark(stored, first);
  return {
    kind: 'read',
    covered: failure === null ? { parts: null } : null,
    state: failure === null ? { watermark } : {},
    note: changes?.note ?? null,
    failure,
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
        : toOutcome(yield* readChanges(read, state.watermark, pageSize));
  }
}
