/**
 * Ranges of creation time and what one response says about them. Pure. All times in ms since 1970; `null` is open.
 * A record never changes its creation time, so disjoint slices never share or lose one.
 */
import type { Received } from '../shared/received.ts';
import { ExactNumber } from '../shared/exact-number.ts';

export interface CreationSlice {
  /** Inclusive. */
  readonly fromMs: number | null;
  /** Exclusive. */
  readonly toMs: number | null;
}

export const WHOLE_TIME: CreationSlice = { fromMs: null, toMs: null };

export const isWholeTime = ({ fromMs, toMs }: CreationSlice): boolean => fromMs === null && toMs === null;

/** The filters of followups.list that ask for a slice. Their bounds are exclusive; were they inclusive, a neighbour's record would be seen twice. */
export function toCreationFilters({ fromMs, toMs }: CreationSlice): Record<string, number> {
  return {
    ...(fromMs === null ? {} : { created_after: fromMs - 1 }),
    ...(toMs === null ? {} : { created_before: toMs }),
  };
}

/** The years 1 to 9999: a time outside of them is an error of the data and orders nothing. */
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00Z');
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

/** ms; undefined where the value is absent or unusable. */
export function readMs(value: unknown): number | undefined {
  const isText = value instanceof ExactNumber || (typeof value === 'string' && /^\d{1,16}$/.test(value));
  const ms = isText ? Number(value) : value;
  return typeof ms === 'number' && ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : undefined;
}

/** A time field of a record, ms; undefined where it is absent or unusable. */
export const timeOf = (record: Received, field: string): number | undefined => readMs(record.field(field));

export interface CreationOrder {
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Every record tells its creation and none is newer than the one before it. */
  readonly isNewestFirst: boolean;
}

/** undefined when no record tells when it was created. */
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
