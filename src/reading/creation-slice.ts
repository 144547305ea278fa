/**
 * Ranges of creation time and what one response says about them. Pure. All times in ms since 1970; `null` is open.
 * A record never changes its creation time, so disjoint slices never share or lose one.
 */
import { ExactNumber } from '../shared/exact-number.ts';
import { isWireRecord } from '../streams/wire.ts';
import type { ResponseClock } from './service-clock.ts';

export interface CreationSlice {
  /** Inclusive. */
  readonly from: number | null;
  /** Exclusive. */
  readonly to: number | null;
}

/** The filters of followups.list that ask for a slice. Their bounds are exclusive; were they inclusive, a neighbour's record would be seen twice. */
export function toCreationFilters({ from, to }: CreationSlice): Record<string, number> {
  return {
    ...(from === null ? {} : { created_after: from - 1 }),
    ...(to === null ? {} : { created_before: to }),
  };
}

/** The years 1 to 9999: a time outside of them is an error of the data and orders nothing. */
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00Z');
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

function toMs(value: unknown): number | undefined {
  const isText = value instanceof ExactNumber || (typeof value === 'string' && /^\d{1,16}$/.test(value));
  const ms = isText ? Number(value) : value;
  return typeof ms === 'number' && ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : undefined;
}

/** A time field of a record, ms; undefined where it is absent or unusable. */
export function timeOf(record: unknown, field: string): number | undefined {
  return isWireRecord(record) ? toMs(record[field]) : undefined;
}

export interface CreationOrder {
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Every record tells its creation and none is newer than the one before it. */
  readonly isNewestFirst: boolean;
}

/** undefined when no record tells when it was created. */
export function readCreationOrder(records: readonly unknown[]): CreationOrder | undefined {
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
  const from = slice.from ?? Math.min(0, Math.floor(order.oldestMs));
  const to = slice.to ?? Math.ceil(order.newestMs) + 1;
  const middle = Math.floor(from + (to - from) / 2);
  return middle <= from || middle >= to
    ? undefined
    : [
        { from: middle, to: slice.to },
        { from: slice.from, to: middle },
      ];
}

/**
 * The watermark that a run may leave behind: the latest `updated_on` of its first response. The service sent it, so it
 * had made every change up to there, and this run reads them all. Values beyond the clock are errors of the data and
 * left out. Where all of them lie beyond the response's own clock (its Date header), that clock is the earlier of the two
 * and safe; beyond a clock of ours nothing is known, since ours may be hours ahead of the service's. undefined: no
 * record tells.
 */
export function watermarkOf(records: readonly unknown[], clock: ResponseClock): number | undefined {
  const clockMs = clock.serviceMs ?? clock.ourMs;
  let latest: number | undefined;
  let isAnyBeyond = false;
  for (const record of records) {
    const updated = timeOf(record, 'updated_on');
    if (updated === undefined) continue;
    if (updated > clockMs) isAnyBeyond = true;
    else if (latest === undefined || updated > latest) latest = updated;
  }
  return latest ?? (isAnyBeyond ? clock.serviceMs : undefined);
}

/** For messages. */
export function describeSlice({ from, to }: CreationSlice): string {
  const time = (ms: number | null, open: string) => (ms === null ? open : new Date(ms).toISOString());
  return `${time(from, 'from the beginning')} to ${time(to, 'now')}`;
}
