/** Ranges of creation time and the filters that select them. A record never changes its creation time. Pure; ms since 1970. */
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { type LedgerSlice, type SliceStatus, type TimeSlice, WHOLE_TIME } from '../streams/state.ts';
import type { Params } from './read-request.ts';

export const isSameRange = (one: TimeSlice, other: TimeSlice): boolean =>
  one.fromMs === other.fromMs && one.toMs === other.toMs;

export const isWholeTime = (range: TimeSlice): boolean => isSameRange(range, WHOLE_TIME);

/** The second of a time: a service may compare times by seconds, so no range ends within one. */
export const secondOf = (ms: number): number => Math.floor(ms / SECOND_MS) * SECOND_MS;
export const afterSecondOf = (ms: number): number => secondOf(ms) + SECOND_MS;

/** A slice without any stored record, in whole seconds. */
export function unreadSlice({ fromMs, toMs }: TimeSlice, status: SliceStatus): LedgerSlice {
  const endMs = afterSecondOf(toMs - 1);
  return { fromMs: secondOf(fromMs), toMs: endMs, status, readToMs: endMs, expected: null, records: 0 };
}

/** The service's bounds are exclusive. */
export const toFilters = ({ fromMs, toMs }: TimeSlice): Params => ({
  ...(fromMs > WHOLE_TIME.fromMs && { created_after: fromMs - 1 }),
  ...(toMs < WHOLE_TIME.toMs && { created_before: toMs }),
});

/** `count` ranges, newest first, that together are `range`; they divide the time that its records occupy evenly. */
export function cutEvenly(range: TimeSlice, occupied: TimeSlice, count: number): TimeSlice[] {
  const stepMs = (occupied.toMs - occupied.fromMs) / count;
  const edges = Array.from({ length: count - 1 }, (_, at) => secondOf(occupied.toMs - stepMs * (at + 1)));
  const inside = [...new Set(edges)].filter((ms) => ms > range.fromMs && ms < range.toMs);
  return [range.toMs, ...inside].map((toMs, at) => ({ fromMs: inside[at] ?? range.fromMs, toMs }));
}

/** The ranges that these cover, without overlaps, newest first. */
export function unionOf(ranges: readonly TimeSlice[]): TimeSlice[] {
  const union: TimeSlice[] = [];
  for (const range of ranges.toSorted((one, other) => other.toMs - one.toMs)) {
    const last = union.at(-1);
    if (last === undefined || range.toMs < last.fromMs) union.push(range);
    else union.splice(-1, 1, { fromMs: Math.min(last.fromMs, range.fromMs), toMs: last.toMs });
  }
  return union;
}

/** For messages. */
export function describeRange({ fromMs, toMs }: TimeSlice): string {
  const from = fromMs > WHOLE_TIME.fromMs ? toIso(fromMs) : 'from the beginning';
  return `${from} to ${toMs < WHOLE_TIME.toMs ? toIso(toMs) : 'now'}`;
}
