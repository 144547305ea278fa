/**
 * Ranges of creation time, and the order of the records in a response. Pure. All times in ms since 1970; `null` is open.
 * A record never changes its creation time, so disjoint slices never share or lose one.
 */
import type { Received } from '../../shared/received.ts';
import type { TimeSlice } from '../streams/state.ts';
import { timeOf } from './record-fields.ts';

export interface CreationSlice {
  /** Inclusive. */
  readonly fromMs: number | null;
  /** Exclusive. */
  readonly toMs: number | null;
}

export const WHOLE_TIME: CreationSlice = { fromMs: null, toMs: null };

export const isWholeTime = ({ fromMs, toMs }: CreationSlice): boolean => fromMs === null && toMs === null;

/** The filters of followups.list for a slice. Their bounds are exclusive; with inclusive ones a record of a neighbour would be seen twice. */
export function toCreationFilters({ fromMs, toMs }: CreationSlice): Record<string, number> {
  return {
    ...(fromMs === null ? {} : { created_after: fromMs - 1 }),
    ...(toMs === null ? {} : { created_before: toMs }),
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

/** The two halves of a slice, the newer first; undefined when it cannot be divided. */
export function halve(
  slice: CreationSlice,
  order: CreationOrder,
): [CreationSlice, CreationSlice] | undefined {
  const fromMs = slice.fromMs ?? Math.min(0, Math.floor(order.oldestMs));
  const toMs = slice.toMs ?? Math.ceil(order.newestMs) + 1;
  const middleMs = Math.floor(fromMs + (toMs - fromMs) / 2);
  return middleMs <= fromMs || middleMs >= toMs
    ? undefined
    : [
        { fromMs: middleMs, toMs: slice.toMs },
        { fromMs: slice.fromMs, toMs: middleMs },
      ];
}

/** For messages. */
export function describeSlice({ fromMs, toMs }: CreationSlice): string {
  const time = (ms: number | null, open: string) => (ms === null ? open : new Date(ms).toISOString());
  return `${time(fromMs, 'from the beginning')} to ${time(toMs, 'now')}`;
}

/**
 * Holes are parts of creation time that are left out because the service fails for a record in them. These are the
 * bounds for a failing part without bounds: in the ledger, and where it is divided.
 */
export const FAILING_TIME: TimeSlice = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

/** A hole as the ledger has it. */
export const toHole = ({ fromMs, toMs }: CreationSlice): TimeSlice => ({
  fromMs: fromMs ?? FAILING_TIME.fromMs,
  toMs: toMs ?? FAILING_TIME.toMs,
});

/** The slice to request for a hole of the ledger. */
export const ofHole = ({ fromMs, toMs }: TimeSlice): CreationSlice => ({
  fromMs: fromMs <= FAILING_TIME.fromMs ? null : fromMs,
  toMs: toMs >= FAILING_TIME.toMs ? null : toMs,
});

/** The parts of a slice between holes, oldest first. */
export function partsBetween(slice: CreationSlice, holes: readonly TimeSlice[]): CreationSlice[] {
  const parts: CreationSlice[] = [];
  let { fromMs } = slice;
  for (const hole of holes.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const part = ofHole(hole);
    if (part.fromMs !== null && part.fromMs > (fromMs ?? -Infinity))
      parts.push({ fromMs, toMs: part.fromMs });
    if (part.toMs === null) return parts;
    fromMs = Math.max(fromMs ?? part.toMs, part.toMs);
  }
  return [...parts, { fromMs, toMs: slice.toMs }];
}
