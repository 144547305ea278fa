/** Simulated services with different kinds of limits, and a simulated client that does not know the kind. */
import { createLimiter } from '../../src/engine/api/limiter.ts';
import { Random } from '../../src/sandbox/random.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/shared/time.ts';

export interface ServiceLimit {
  /** Whether a request that arrives now is admitted; `inFlight` does not include it. */
  admit(nowMs: number, inFlight: number): boolean;
  /** The most requests that are admitted in this time, when each takes `latencyMs`. */
  allows(durationMs: number, latencyMs: number): number;
}

/** A limit per fixed window of the clock. */
export function fixedWindow(requests: number, windowMs: number): ServiceLimit {
  let window = -1;
  let used = 0;
  return {
    admit(nowMs) {
      const current = Math.floor(nowMs / windowMs);
      if (current !== window) [window, used] = [current, 0];
      if (used >= requests) return false;
      used += 1;
      return true;
    },
    allows: (durationMs) => (durationMs / windowMs) * requests,
  };
}

/** A limit per sliding window. */
export function slidingWindow(requests: number, windowMs: number): ServiceLimit {
  const admitted: number[] = [];
  return {
    admit(nowMs) {
      while ((admitted[0] ?? Infinity) <= nowMs - windowMs) admitted.shift();
      if (admitted.length >= requests) return false;
      admitted.push(nowMs);
      return true;
    },
    allows: (durationMs) => (durationMs / windowMs) * requests,
  };
}

/** A token bucket that refills evenly, up to `burst`; with a burst of 1, requests are evenly spaced. */
export function tokenBucket(perSecond: number, burst: number): ServiceLimit {
  let tokens = burst;
  let lastMs = 0;
  return {
    admit(nowMs) {
      tokens = Math.min(burst, tokens + ((nowMs - lastMs) / SECOND_MS) * perSecond);
      lastMs = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    allows: (durationMs) => (durationMs / SECOND_MS) * perSecond + burst,
  };
}

/** A limit on concurrent requests. */
export function atOneTime(requests: number): ServiceLimit {
  return {
    admit: (_, inFlight) => inFlight < requests,
    allows: (durationMs, latencyMs) => (durationMs / latencyMs) * requests,
  };
}

/** A different limit after some moment. */
export function changing(first: ServiceLimit, atMs: number, then: ServiceLimit): ServiceLimit {
  return {
    admit: (nowMs, inFlight) => (nowMs < atMs ? first : then).admit(nowMs, inFlight),
    allows: (durationMs, latencyMs) =>
      first.allows(atMs, latencyMs) + then.allows(durationMs - atMs, latencyMs),
  };
}

/** Admits no requests. */
export function throttlingAll(): ServiceLimit {
  return { admit: () => false, allows: () => 0 };
}

export function unlimited(): ServiceLimit {
  return { admit: () => true, allows: (durationMs) => (durationMs === 0 ? 0 : Infinity) };
}

/** Admits one of every `requests` requests, at any rate. */
export function oneIn(requests: number): ServiceLimit {
  let asked = 0;
  return {
    admit: () => (asked += 1) % requests === 0,
    allows: () => Infinity,
  };
}

interface Outcome {
  /** Admitted requests, as a share of the most that the service admits. */
  readonly usedShare: number;
  /** Refused requests, as a share of all requests. */
  readonly throttledShare: number;
}

const REFUSAL_MS = 20;

/** A client with an endless supply of requests, with the real limiter, in simulated time. */
export function simulateLimit(
  limit: ServiceLimit,
  {
    concurrency = 8,
    latencyMs = 100,
    durationMs = 60 * MINUTE_MS,
    fromMs = 0,
    seed = 1,
  }: {
    readonly concurrency?: number;
    readonly latencyMs?: number;
    readonly durationMs?: number;
    /** Only later requests are counted. */
    readonly fromMs?: number;
    readonly seed?: number;
  } = {},
): Outcome {
  const numbers = new Random(seed);
  const random = () => numbers.next();
  let nowMs = 0;
  const limiter = createLimiter({
    concurrency,
    requestsPerMinute: undefined,
    retryMinDelayMs: SECOND_MS,
    retryMaxDelayMs: MINUTE_MS,
    random,
    clock: { now: () => 0, monotonicMs: () => nowMs },
  });
  const underway: { readonly endMs: number; readonly ordinal: number; readonly isRefused: boolean }[] = [];
  let accepted = 0;
  let throttled = 0;
  while (nowMs < durationMs) {
    const waitMs = Math.max(limiter.coolingMs(), limiter.pacingMs());
    if (waitMs === 0 && underway.length < limiter.concurrencyNow) {
      const inFlight = underway.filter(({ isRefused }) => !isRefused).length;
      const isRefused = !limit.admit(nowMs, inFlight);
      const tookMs = isRefused ? REFUSAL_MS : latencyMs * (0.9 + 0.2 * random());
      underway.push({ endMs: nowMs + tookMs, ordinal: limiter.recordStart(), isRefused });
      underway.sort((a, b) => a.endMs - b.endMs);
      continue;
    }
    const canStart = underway.length < limiter.concurrencyNow;
    const startMs = canStart ? nowMs + waitMs : Infinity;
    const [first] = underway;
    if (first === undefined || startMs < first.endMs) {
      nowMs = startMs;
      continue;
    }
    underway.shift();
    nowMs = first.endMs;
    if (first.isRefused) {
      if (nowMs >= fromMs) throttled += 1;
      limiter.recordThrottled(first.ordinal, undefined);
    } else {
      if (nowMs >= fromMs) accepted += 1;
      limiter.recordSuccess(first.ordinal);
    }
  }
  const countedMs = durationMs - fromMs;
  const possible = Math.min(limit.allows(countedMs, latencyMs), (countedMs / latencyMs) * concurrency);
  return { usedShare: accepted / possible, throttledShare: throttled / (accepted + throttled) };
}
