/**
 * Learns the request rate of a service with an unknown limit from its throttled responses (429). After such a response, the
 * rate falls to a little less than the measured one, and then grows slowly. Pure: times are given.
 *
 * A cycle runs from the first success after a throttled response to the next such success. Its average rate, cool-down
 * included, is the rate that the service allows, for each kind of limit: a fixed window that was used up early, a sliding
 * window, a token bucket. The next cycle starts a little below this rate and grows slowly, so throttled responses stay
 * rare. If a cycle lasts longer than usual without a throttled response, the rate grows faster, because the service may
 * allow more than before.
 *
 * The longest expected window is a minute. So at most a minute of a stretch of throttled responses counts as time of the
 * cycle, and a stretch that is too long for such a window (an outage, a daily quota) resets the measurements. The distance
 * of two requests is at most MOST_SPACING_MS.
 */
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';

/** The rate at which a cycle starts, as a share of the previous one. */
const START_SHARE = 0.96;
/** The rate of a cycle returns to the throttled rate after at least this many requests and this many ms. */
const CYCLE_REQUESTS = 120;
const CYCLE_MS = 80_000;
/**
 * After a long cycle the rate is at least 96 % of the previous one, because slow growth reached the limit only a little
 * above it. After a short cycle it is at least 80 %, because the measurement is less certain.
 */
const MIN_KEPT_AFTER_LONG = 0.96;
const MIN_KEPT_AFTER_SHORT = 0.8;
/**
 * A cycle with fewer requests gives no measurement: the next cycle doubles its rate every DOUBLING_REQUESTS until it is
 * throttled.
 */
const MEASURED_REQUESTS = 20;
const DOUBLING_REQUESTS = 8;
/**
 * A cycle that lasts longer than this multiple of its usual length grows faster: by OVERDUE_GROWTH_BASE to the power of the
 * excess multiple, at most FASTEST_GROWTH times as fast.
 */
const CYCLES_BEFORE_FASTER_GROWTH = 1.2;
const OVERDUE_GROWTH_BASE = 16;
const FASTEST_GROWTH = 4;
/** Growth factor in the first cycle. Its measured rate is too low, because it includes unbounded cool-downs. */
const FIRST_GROWTH = 10;
const LONGEST_WINDOW_MS = MINUTE_MS;
/** A longer distance would hide that the service allows more again; for lower limits the cool-downs are sufficient. */
export const MOST_SPACING_MS = 10 * SECOND_MS;
/** A rate in requests per ms that counts as no limit. */
const UNLIMITED = 1;

export function createSendingRate(nowMs: number, maxCoolDownMs: number) {
  /** The longest window, the cool-down at its end, and a cool-down that ended too early. */
  const longestStretchMs = LONGEST_WINDOW_MS + 2 * maxCoolDownMs;
  /** Requests per ms; undefined: no limit was met. */
  let rate: number | undefined;
  /** When the present stretch of throttled responses began. */
  let throttledSinceMs: number | undefined;
  let cycleStartMs = nowMs;
  let accepted = 0;
  let isSearching = false;
  let hasSearched = false;
  let cycles = 0;

  function forget(atMs: number): void {
    rate = undefined;
    isSearching = false;
    hasSearched = false;
    cycles = 0;
    cycleStartMs = atMs;
    accepted = 0;
  }

  function beginCycle(atMs: number, stretchMs: number): void {
    const elapsedMs = Math.max(1, atMs - cycleStartMs - Math.max(0, stretchMs - LONGEST_WINDOW_MS));
    const measured = accepted / elapsedMs;
    if (rate === undefined) rate = measured;
    else {
      const isLong = elapsedMs >= 1.5 * CYCLE_MS && accepted >= 2 * MEASURED_REQUESTS;
      rate = Math.min(rate, Math.max(measured, rate * (isLong ? MIN_KEPT_AFTER_LONG : MIN_KEPT_AFTER_SHORT)));
    }
    const isSlowest = rate * START_SHARE <= 1 / MOST_SPACING_MS;
    rate = Math.max(rate * START_SHARE, 1 / MOST_SPACING_MS);
    isSearching = isSlowest || (accepted < MEASURED_REQUESTS && !hasSearched);
    hasSearched ||= isSearching;
    cycles += 1;
    cycleStartMs = atMs;
    accepted = 0;
  }

  function grow(atMs: number): void {
    if (rate === undefined) return;
    if (isSearching) {
      rate *= 2 ** (1 / DOUBLING_REQUESTS);
      return;
    }
    const cycleMs = Math.max(CYCLE_MS, CYCLE_REQUESTS / rate);
    const overdue = (atMs - cycleStartMs) / cycleMs - CYCLES_BEFORE_FASTER_GROWTH;
    const usual = overdue <= 0 ? 1 : Math.min(FASTEST_GROWTH, OVERDUE_GROWTH_BASE ** overdue);
    const growth = cycles === 1 ? FIRST_GROWTH : usual;
    rate *= START_SHARE ** (-growth / (cycleMs * rate));
  }

  return {
    /** ms between two requests; 0: no limit is known. */
    get spacingMs(): number {
      return rate === undefined ? 0 : 1 / rate;
    },
    /** Throttled, without a success since then. */
    get isThrottled(): boolean {
      return throttledSinceMs !== undefined;
    },
    /** Time without a waiting request is excluded from the measurement. */
    recordIdle(ms: number): void {
      cycleStartMs += ms;
      if (throttledSinceMs !== undefined) throttledSinceMs += ms;
    },
    /** True if the throttled stretch was too long for a window, so that the measurements were reset. */
    recordSuccess(atMs: number): boolean {
      accepted += 1;
      const stretchMs = throttledSinceMs === undefined ? undefined : atMs - throttledSinceMs;
      throttledSinceMs = undefined;
      const isForgotten = stretchMs !== undefined && stretchMs > longestStretchMs;
      if (stretchMs === undefined) grow(atMs);
      else if (isForgotten) forget(atMs);
      else beginCycle(atMs, stretchMs);
      if (rate !== undefined && rate > UNLIMITED) rate = undefined;
      return isForgotten;
    },
    recordThrottled(atMs: number): void {
      throttledSinceMs ??= atMs;
    },
  };
}
