/** Follow-ups: all of them at first, then the changes since the watermark (specification: followups.list). */
import { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Hole, ServiceTime, TimeSlice } from '../streams/state.ts';
import { readBackfill, retryHoles } from './backfill.ts';
import type { OpenHole } from './backfill-slice.ts';
import { describeSlice, FAILING_TIME, isWholeTime, ofHole, toHole, WHOLE_TIME } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import { type Params, toIncomplete } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { recordName } from './record-fields.ts';
import { createSliceReader } from './slice-reader.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';
import {
  type FirstResponse,
  laterWatermark,
  nextWatermark,
  offsetOf,
  readFirstResponse,
  readFrom,
  updatedAfter,
} from './watermark.ts';

/** A first sync that took longer than this reads the changes since its beginning before it ends. */
const LONG_MS = MINUTE_MS;

interface ReadWalk {
  /** Why records are missing outside of the holes; null: none are. */
  readonly failure: SafetySyncError | null;
  readonly first: FirstResponse | undefined;
  /** The total of the first response equals the number of different records that were read; an empty list proves nothing. */
  readonly isTotalReached: boolean;
  /** Slices that this walk left out. */
  readonly holes: readonly OpenHole[];
}

/**
 * Yields the records of a walk; returns what is missing, and what its first response shows. `without`: slices that earlier
 * runs left out.
 */
async function* readWalk(
  read: ReadRequest,
  filters?: Params,
  without?: readonly TimeSlice[],
): Steps<ReadWalk> {
  const walk = walkCreation(WHOLE_TIME, createSliceReader(read, filters), { without });
  const holes: OpenHole[] = [];
  let first: FirstResponse | undefined;
  let total: number | undefined;
  let seen = 0;
  for (;;) {
    const next = await walk.next();
    if (next.done === true) {
      return { failure: next.value, first, isTotalReached: seen === total && seen > 0, holes };
    }
    switch (next.value.kind) {
      case 'first':
        first = readFirstResponse(next.value.page, read.service.clock.now());
        total = next.value.page.paging?.total;
        break;
      case 'records':
        yield records(next.value.records);
        seen = next.value.seen;
        break;
      case 'hole': {
        const slice = toHole(next.value.range);
        holes.push({ slice, error: next.value.error });
        yield { ...records([]), writes: [{ kind: 'hole', slice }] };
      }
    }
  }
}

interface Changes {
  /** Why records are missing; null: none are. */
  readonly failure: SafetySyncError | null;
  readonly watermark: ServiceTime | null;
  readonly note?: string | null;
  readonly holes: readonly OpenHole[];
}

/** Reads the changes since the watermark; returns the next one. */
async function* readChanges(
  read: ReadRequest,
  watermark: ServiceTime,
  without?: readonly TimeSlice[],
): Steps<Changes> {
  let start = watermark;
  for (;;) {
    const filters = { updated_after: updatedAfter(start.ms, read.settings.followupsOverlapMs) };
    const { failure, first, holes } = yield* readWalk(read, filters, without);
    const isRepeated = start !== watermark;
    const ms = failure === null && first !== undefined ? readFrom(start, first.clock) : start.ms;
    if (first !== undefined && ms < start.ms && !isRepeated) {
      // The first response shows that the service's clock went back: changes since then were not requested.
      start = { ms, clockOffsetMs: offsetOf(first.clock) };
      continue;
    }
    const note = isRepeated
      ? `the service’s clock went back, or ours jumped ahead: read again from ${new Date(start.ms).toISOString()}`
      : null;
    const next = first === undefined ? watermark : nextWatermark(watermark, first);
    // A clock that stands still goes back with every response: the next run reads the changes since then.
    const isBack = next !== null && ms < Math.min(start.ms, next.ms);
    return { failure, watermark: isBack ? { ...next, ms } : next, note, holes };
  }
}

/** A run does not succeed while a hole is open, also when it is too early to try that again. */
function holesFailure(
  { stream: { method } }: ReadRequest,
  holes: readonly OpenHole[],
): SafetySyncError | null {
  const [first] = holes;
  if (first === undefined) return null;
  const cause = holes.find(({ error }) => error !== undefined)?.error;
  const more = holes.length === 1 ? '' : ` (and ${holes.length - 1} more ranges)`;
  const why = cause?.message ?? 'left out since an earlier run, to be tried again later';
  const message = `${method}, created ${describeSlice(ofHole(first.slice))}${more}: ${why}`;
  return new SafetySyncError('range_unreadable', message, { cause, requestId: cause?.requestId });
}

function toOutcome(read: ReadRequest, { failure, watermark, note = null, holes }: Changes) {
  // Records that are missing must be requested again, so the watermark stays.
  const state = failure === null ? { watermark } : {};
  return { kind: 'read', covered: null, state, note, failure: failure ?? holesFailure(read, holes) } as const;
}

/** The first sync: the same mechanism as a backfill of everything, and continued like one. */
async function* readFirstSync(read: ReadRequest): Steps<ReadOutcome> {
  const { clock } = read.service;
  const startedMs = clock.monotonicMs();
  // The range of a request is for a backfill: a first sync reads everything.
  const { plan, isResumed, failure, holes } = yield* readBackfill(read, {});
  const tookLong = clock.monotonicMs() - startedMs > LONG_MS;
  if (failure !== null || plan.watermark === null || !(isResumed || tookLong)) {
    return toOutcome(read, { failure, watermark: plan.watermark, holes });
  }
  const without = holes.map(({ slice }) => slice);
  const changes = yield* readChanges(read, plan.watermark, without);
  return toOutcome(read, { ...changes, holes: [...holes, ...changes.holes] });
}

/** Reads the changes, and the holes of earlier runs: a manual run all of them, a scheduled one those that are due. */
async function* readSync(read: ReadRequest, watermark: ServiceTime): Steps<ReadOutcome> {
  const known = await read.warehouse.readHoles();
  const without = known.map(({ slice }) => slice);
  const changes = yield* readChanges(read, watermark, without);
  if (changes.failure !== null) return toOutcome(read, changes);
  const isTried = ({ isDue }: Hole): boolean => isDue || !read.isScheduled;
  const tried = yield* retryHoles(read, known.filter(isTried));
  const waiting = known.filter((hole) => !isTried(hole));
  const holes = [...tried.holes, ...changes.holes, ...waiting];
  if (known.length > 0 && holes.length === 0 && tried.failure === null) yield* readUndated(read);
  return toOutcome(read, { ...changes, failure: tried.failure, holes });
}

/**
 * Reads everything by page numbers if no filter on creation time shows some records, because their pages may have failed
 * while a hole was open. A failure is thrown, so that the holes stay open.
 */
async function* readUndated(read: ReadRequest): Steps {
  const seen = { topMs: FAILING_TIME.toMs, records: Infinity, undated: 0 };
  const unseen = createSliceReader(read).readUnseen(WHOLE_TIME, seen, false);
  for await (const list of unseen) yield records(list);
}

/** Only a backfill of everything has read all changes that the service had made when it began. */
async function* readAsked(read: ReadRequest): Steps<ReadOutcome> {
  const { range = WHOLE_TIME, state } = read;
  const { plan, failure, holes } = yield* readBackfill(read, read);
  const watermark = isWholeTime(range) ? laterWatermark(state.watermark, plan.watermark) : state.watermark;
  return toOutcome(read, { failure, watermark, holes });
}

/**
 * Without a total that proves the walk complete, records may exist that no filter on creation time shows. Vanished rows
 * are looked for by page numbers before they are marked deleted. Returns what is missing; null: nothing.
 */
async function* readMissingFollowups(read: ReadRequest): Steps<SafetySyncError | null> {
  const vanished = await read.warehouse.findVanished({ partitions: null });
  if (vanished.size === 0) return null;
  try {
    for await (const page of createSliceReader(read).readByPages(WHOLE_TIME))
      yield records(page.filter((record) => vanished.has(recordName(record, read.stream.keyField))));
    return null;
  } catch (error) {
    return toIncomplete(error);
  }
}

/**
 * Reconciliation. First the changes that an incremental read finds, so that every other difference is a change that
 * incremental reads have missed, or a deletion, which they cannot see.
 */
async function* readEverything(read: ReadRequest): Steps<ReadOutcome> {
  const before = read.state.watermark;
  const changes = before === null ? null : yield* readChanges(read, before);
  if (changes !== null) {
    if (changes.failure !== null) return toOutcome(read, changes);
    yield { kind: 'commit' };
  }
  // Holes are requested, too: deletions follow only from a read that is complete.
  const { first, holes, ...walk } = yield* readWalk(read);
  const isUnproven = walk.failure === null && holes.length === 0 && !walk.isTotalReached;
  const failure = isUnproven ? yield* readMissingFollowups(read) : walk.failure;
  const stored = changes?.watermark ?? null;
  const watermark = first === undefined ? stored : nextWatermark(stored, first);
  const outcome = toOutcome(read, { failure, watermark, note: changes?.note ?? null, holes });
  const covered = outcome.failure === null ? { partitions: null } : null;
  return { ...outcome, covered, ...(stored === null ? {} : { repairUpToMs: stored.ms }) };
}

export function readIncremental(read: ReadRequest): Steps<ReadOutcome> {
  const { watermark } = read.state;
  switch (read.kind) {
    case 'backfill':
      return readAsked(read);
    case 'reconcile':
      return readEverything(read);
    case 'sync':
      return watermark === null ? readFirstSync(read) : readSync(read, watermark);
  }
}
