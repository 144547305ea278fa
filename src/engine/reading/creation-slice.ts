/**
 * Slices of creation time, and the order of the records in a response. Pure. A record never changes its creation time, so
 * disjoint slices never share or lose one.
 */
import type { Received } from '../../shared/received.ts';
import type { TimeSlice } from '../streams/state.ts';
import { timeOf } from './record-fields.ts';

export const WHOLE_TIME: TimeSlice = { fromMs: -Infinity, toMs: Infinity };

export const isWholeTime = ({ fromMs, toMs }: TimeSlice): boolean =>
  fromMs === -Infinity && toMs === Infinity;

/** A bound, or another one in place of an open end. */
export const boundOr = (ms: number, other: number): number => (Number.isFinite(ms) ? ms : other);

/** The filters of followups.list for a slice. Their bounds are exclusive; with inclusive ones a record of a neighbour would be seen twice. */
export function toCreationFilters({ fromMs, toMs }: TimeSlice): Record<string, number> {
  return {
    ...(Number.isFinite(fromMs) ? { created_after: fromMs - 1 } : {}),
    ...(Number.isFinite(toMs) ? { created_before: toMs } : {}),
  };
}

export interface CreationOrder {
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Every record has a creation time, and none is newer than the one before it. */
  readonly isNewestFirst: boolean;
}

/** undefined when no record has a creation time. */
export function readCreationOrder(records: readonly Received[]): CreationOrder | undefined {
  let oldestMs = Infinity;
  let newestMs = -Infinity;
  let isNewestFirst = true;
  for (const record of records) {
    const created = timeOf(record, 'created_on');
    if (created === undefined) {
      isNewestFirst = false;
      continue;
    }
    if (created > oldestMs) isNewestFirst = false;
    oldestMs = Math.min(oldestMs, created);
    newestMs = Math.max(newestMs, created);
  }
  return newestMs === -Infinity ? undefined : { oldestMs, newestMs, isNewestFirst };
}

/** Bounds the plan where the service returns a total that is far too high; a slice that is too large is cut again. */
const MOST_SLICES = 10_000;

/** Equal ranges of the time from `fromMs` to `toMs`, newest first; fewer where the time is too short. */
export function cutEvenly({ fromMs, toMs }: TimeSlice, wanted: number): TimeSlice[] {
  const count = Math.max(1, Math.min(wanted, MOST_SLICES, Math.floor(toMs - fromMs)));
  const edge = (index: number) =>
    index === count ? toMs : Math.floor(fromMs + ((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, at) => ({
    fromMs: edge(count - 1 - at),
    toMs: edge(count - at),
  }));
}

/** The two halves of a slice, the newer first; undefined when it cannot be divided. */
export function halve(slice: TimeSlice, order: CreationOrder): [TimeSlice, TimeSlice] | undefined {
  const fromMs = boundOr(slice.fromMs, Math.min(0, Math.floor(order.oldestMs)));
  const toMs = boundOr(slice.toMs, Math.ceil(order.newestMs) + 1);
  const [newer, older] = cutEvenly({ fromMs, toMs }, 2);
  return (
    newer &&
    older && [
      { ...newer, toMs: slice.toMs },
      { ...older, fromMs: slice.fromMs },
    ]
  );
}

/** For messages. */
export function describeSlice({ fromMs, toMs }: TimeSlice): string {
  const time = (ms: number, open: string) => (Number.isFinite(ms) ? new Date(ms).toISOString() : open);
  return `${time(fromMs, 'from the beginning')} to ${time(toMs, 'now')}`;
}

/**
 * Holes are ranges of creation time that are left out because the service fails for a record in them. These are the
 * bounds for a failing range without bounds: in the ledger, and where it is divided.
 */
export const FAILING_TIME: TimeSlice = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

/** A hole as the ledger has it. */
export const toHole = ({ fromMs, toMs }: TimeSlice): TimeSlice => ({
  fromMs: boundOr(fromMs, FAILING_TIME.fromMs),
  toMs: boundOr(toMs, FAILING_TIME.toMs),
});

/** The slice to request for a hole of the ledger. */
export const ofHole = ({ fromMs, toMs }: TimeSlice): TimeSlice => ({
  fromMs: fromMs <= FAILING_TIME.fromMs ? -Infinity : fromMs,
  toMs: toMs >= FAILING_TIME.toMs ? Infinity : toMs,
});

/** The ranges of a slice between holes, oldest first. */
export function rangesBetween(slice: TimeSlice, holes: readonly TimeSlice[]): TimeSlice[] {
  const ranges: TimeSlice[] = [];
  let { fromMs } = slice;
  for (const hole of holes.map(ofHole).toSorted((one, other) => one.fromMs - other.fromMs)) {
    ranges.push({ fromMs, toMs: hole.fromMs });
    fromMs = Math.max(fromMs, hole.toMs);
  }
  return [...ranges, { fromMs, toMs: slice.toMs }].filter((range) => range.fromMs < range.toMs);
}
