/**
 * The watermark, from which the next read begins, also after the service's clock was set back. Pure; times in
 * ms since 1970.
 *
 * A time of the service is stored with the difference between the clocks. If that difference becomes smaller,
 * the service's clock went back or the worker's jumped ahead. The cause is unknown, so the stored time is
 * reduced by as much. An error of the worker's clock therefore only causes more reading, unless it goes back
 * between the same two runs as the service's clock: then each step hides as much of the other.
 */
import type { Received } from '../../shared/received.ts';
import type { ListPage } from '../api/requests.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { ServiceTime } from '../streams/state.ts';
import { timeOf } from './record-fields.ts';

/** A Date header has whole seconds, and a response takes time to arrive: smaller differences are ignored. */
const NOISE_MS = 5 * SECOND_MS;

/** The time of a response. */
export interface ResponseClock {
  /** By its Date header; undefined where it has none. */
  readonly serviceMs: number | undefined;
  readonly ourMs: number;
}

export function offsetOf({ serviceMs, ourMs }: ResponseClock): number | null {
  return serviceMs === undefined ? null : serviceMs - ourMs;
}

/**
 * The watermark of a run: the latest `updated_on` of its first response. The service sent it, so it had made
 * every change up to there, and this run reads them all. Values after the clock are errors of the data and
 * ignored. If all of them are after the response's own clock (its Date header), that clock is the earlier
 * time and safe. If they are after the worker's clock, nothing is known, because that clock may be hours
 * ahead of the service's. undefined: no record has a usable time.
 */
export function watermarkOf(records: readonly Received[], clock: ResponseClock): number | undefined {
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

/** The first response of a read. */
export interface FirstResponse {
  /** The latest `updated_on`; undefined: no record has a usable one. */
  readonly seenMs: number | undefined;
  readonly clock: ResponseClock;
}

export function readFirstResponse({ records, serviceTimeMs }: ListPage, ourMs: number): FirstResponse {
  const clock = { serviceMs: serviceTimeMs, ourMs };
  return { seenMs: watermarkOf(records, clock), clock };
}

/**
 * `updated_after` is exclusive: one millisecond less, so that a second change within the watermark's own millisecond is read.
 * The overlap is for changes that become visible later than at their `updated_on`.
 */
export function updatedAfter(watermarkMs: number, overlapMs: number): number {
  return Math.max(0, watermarkMs - overlapMs - 1);
}

/** ms by which the service's clock went back since the stored offset; 0: it did not, or this is unknown. */
export function wentBackBy(storedOffsetMs: number | null, clock: ResponseClock): number {
  const offsetMs = offsetOf(clock);
  const backMs = storedOffsetMs === null || offsetMs === null ? 0 : storedOffsetMs - offsetMs;
  return backMs > NOISE_MS ? backMs : 0;
}

/** The time at which the read has to begin, without the overlap, by a response: the watermark if no clock went back. */
export function readFrom(stored: ServiceTime, clock: ResponseClock): number {
  const bound = Math.min(stored.ms - wentBackBy(stored.clockOffsetMs, clock), clock.serviceMs ?? clock.ourMs);
  return stored.ms - bound > NOISE_MS ? bound : stored.ms;
}

/**
 * The watermark after a read that began at `readFrom`, according to its first response. It goes back only with the service's
 * clock, and is never after that clock.
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

/** The later of two, by the worker's clock if both have the difference to the service's. */
export function laterWatermark(one: ServiceTime | null, other: ServiceTime | null): ServiceTime | null {
  if (one === null || other === null) return one ?? other;
  const areComparable = one.clockOffsetMs !== null && other.clockOffsetMs !== null;
  const comparableMs = ({ ms, clockOffsetMs }: ServiceTime) =>
    areComparable ? ms - (clockOffsetMs ?? 0) : ms;
  return comparableMs(other) > comparableMs(one) ? other : one;
}
