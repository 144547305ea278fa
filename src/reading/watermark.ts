/**
 * The watermark: where the next read begins, what a response tells of it, and what follows when the service's clock goes
 * back. Pure; times in ms since 1970.
 * A time that the service told is noted with the difference between the clocks then. Where that difference became smaller,
 * the service's clock went back, or ours jumped ahead: it cannot be told which, and what was noted counts as so much
 * earlier. So an error of our clock only makes us read more, unless it goes back between the same two runs as the service's:
 * then each step hides as much of the other.
 */
import type { ListPage } from '../api/requests.ts';
import { SECOND_MS } from '../shared/time.ts';
import type { ServiceTime } from '../streams/state.ts';
import { timeOf } from './record-fields.ts';

/** A Date header tells whole seconds, and a response is some time on its way: smaller differences say nothing. */
const NOISE_MS = 5 * SECOND_MS;

/** What time it was when a response was made. */
export interface ResponseClock {
  /** By its Date header; undefined where it has none. */
  readonly serviceMs: number | undefined;
  readonly ourMs: number;
}

export function offsetOf({ serviceMs, ourMs }: ResponseClock): number | null {
  return serviceMs === undefined ? null : serviceMs - ourMs;
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

/** What the first response of a read tells. */
export interface FirstResponse {
  /** undefined: no record tells. */
  readonly seenMs: number | undefined;
  readonly clock: ResponseClock;
}

export function readFirstResponse({ records, serviceTimeMs }: ListPage, ourMs: number): FirstResponse {
  const clock = { serviceMs: serviceTimeMs, ourMs };
  return { seenMs: watermarkOf(records, clock), clock };
}

/**
 * `updated_after` is exclusive: one millisecond less, so that a second change within the watermark's own millisecond
 * is read. The overlap behind it is for changes that became visible later than their time says.
 */
export function updatedAfter(watermarkMs: number, overlapMs: number): number {
  return Math.max(0, watermarkMs - overlapMs - 1);
}

/** How far the service's clock went back since then; 0 where nothing tells. */
export function wentBackBy(storedOffsetMs: number | null, clock: ResponseClock): number {
  const offsetMs = offsetOf(clock);
  const backMs = storedOffsetMs === null || offsetMs === null ? 0 : storedOffsetMs - offsetMs;
  return backMs > NOISE_MS ? backMs : 0;
}

/** Where reading has to begin, without the overlap, as a response tells it: at the watermark if no clock went back. */
export function readFrom(stored: ServiceTime, clock: ResponseClock): number {
  const bound = Math.min(stored.ms - wentBackBy(stored.clockOffsetMs, clock), clock.serviceMs ?? clock.ourMs);
  return stored.ms - bound > NOISE_MS ? bound : stored.ms;
}

/**
 * The watermark after a read that began at `readFrom`, as the read's first response tells it. It goes back only with the
 * service's clock, and is never beyond that clock.
 */
export function nextWatermark(
  stored: ServiceTime | null,
  { seenMs, clock }: FirstResponse,
): ServiceTime | null {
  const clockOffsetMs = offsetOf(clock) ?? stored?.clockOffsetMs ?? null;
  if (stored === null) return seenMs === undefined ? null : { ms: seenMs, clockOffsetMs };
  const keptMs = Math.min(stored.ms - wentBackBy(stored.clockOffsetMs, clock), clock.serviceMs ?? stored.ms);
  const ms = Math.max(keptMs, seenMs ?? keptMs);
  return ms === stored.ms ? stored : { ms, clockOffsetMs };
}

/** The later of two, by our clock where both tell how far off the service's was. */
export function laterWatermark(one: ServiceTime | null, other: ServiceTime | null): ServiceTime | null {
  if (one === null || other === null) return one ?? other;
  const areComparable = one.clockOffsetMs !== null && other.clockOffsetMs !== null;
  const place = ({ ms, clockOffsetMs }: ServiceTime) => (areComparable ? ms - (clockOffsetMs ?? 0) : ms);
  return place(other) > place(one) ? other : one;
}
