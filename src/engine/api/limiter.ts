/**
 * Decides when a request may start and how many may be in flight. The limiter neither waits nor sends, so it can be
 * simulated; the semaphore waits for it.
 *
 * Concurrency is AIMD: a throttled response (429) halves it, successes raise it one by one, but for a while
 * not back to the number that was throttled. That response also begins one cool-down without new requests.
 * Responses to requests that were in flight when it began are throttled for the same reason and change
 * nothing. The cool-downs grow until a request succeeds that started after the newest one. Requests are
 * spaced by the rate that was measured between throttled responses (sending-rate.ts), or further apart where
 * a bound is set.
 *
 * All times are those of the monotonic clock.
 */
import { EventEmitter, once } from 'node:events';
import pLimit from 'p-limit';
import { backoff } from '../../shared/backoff.ts';
import { MINUTE_MS, SECOND_MS, sleep } from '../../shared/time.ts';
import type { ApiClientOptions } from './requests.ts';
import { createSendingRate } from './sending-rate.ts';

/** One more request may be in flight after as many successes as this times the present concurrency. */
const SUCCESSES_PER_RAISE = 4;
/** Period for which a throttled concurrency is not tried again; it doubles each time. */
const HOLD = { firstMs: MINUTE_MS, mostMs: 16 * MINUTE_MS };
/** A pause between two requests that is longer counts as time without a waiting request. */
const IDLE_MS = SECOND_MS;

export type LimiterOptions = Pick<
  ApiClientOptions,
  'concurrency' | 'requestsPerMinute' | 'retryMinDelayMs' | 'retryMaxDelayMs' | 'clock' | 'random'
>;

export type Limiter = ReturnType<typeof createLimiter>;

export function createLimiter(options: LimiterOptions) {
  const { clock, retryMinDelayMs, retryMaxDelayMs } = options;
  const coolDown = { firstMs: 2 * retryMinDelayMs, mostMs: retryMaxDelayMs };
  const jitter = { random: options.random, leastMs: retryMinDelayMs };
  const spacingMs = options.requestsPerMinute === undefined ? 0 : MINUTE_MS / options.requestsPerMinute;
  let concurrencyNow = options.concurrency;
  let nextStartMs = Number.NEGATIVE_INFINITY;
  let coolingUntilMs = Number.NEGATIVE_INFINITY;
  let coolDownsInARow = 0;
  let started = 0;
  /** Requests up to this ordinal were sent before the newest cool-down. */
  let lastBeforeCoolDown = 0;
  let successes = 0;
  const rate = createSendingRate(clock.monotonicMs(), retryMaxDelayMs);
  let lastEventMs = clock.monotonicMs();
  /** The concurrency of the latest throttling; `holdUntilMs`: until then it is not tried again. */
  let throttledAt = Number.POSITIVE_INFINITY;
  /** Number of consecutive throttlings at this concurrency. */
  let holds = 0;
  let holdUntilMs = Number.NEGATIVE_INFINITY;

  const recordThrottledConcurrency = (nowMs: number): void => {
    holds = concurrencyNow === throttledAt ? holds + 1 : 1;
    throttledAt = concurrencyNow;
    holdUntilMs = nowMs + backoff(holds, HOLD);
  };
  const mayRaise = (nowMs: number): boolean =>
    concurrencyNow < options.concurrency &&
    successes >= SUCCESSES_PER_RAISE * concurrencyNow &&
    (concurrencyNow + 1 < throttledAt || nowMs >= holdUntilMs);

  return {
    get concurrencyNow(): number {
      return concurrencyNow;
    },
    /** 0: there is no cool-down. */
    coolingMs: (): number => Math.max(0, coolingUntilMs - clock.monotonicMs()),
    /** ms until the next request may start by the spacing. */
    pacingMs: (): number => Math.max(0, nextStartMs - clock.monotonicMs()),
    /** Call when a request is sent; its ordinal identifies it in the calls below. */
    recordStart: (): number => {
      const nowMs = clock.monotonicMs();
      const idleMs = nowMs - Math.max(lastEventMs, coolingUntilMs, nextStartMs);
      if (idleMs > IDLE_MS) rate.recordIdle(idleMs);
      lastEventMs = nowMs;
      // After a cool-down one request goes first: others would only be throttled with it.
      const aloneMs = rate.isThrottled ? retryMinDelayMs : 0;
      nextStartMs = nowMs + Math.max(spacingMs, rate.spacingMs, aloneMs);
      started += 1;
      return started;
    },
    recordSuccess: (ordinal: number): void => {
      const nowMs = clock.monotonicMs();
      lastEventMs = nowMs;
      if (ordinal <= lastBeforeCoolDown) return;
      if (rate.isThrottled) nextStartMs = Math.min(nextStartMs, nowMs + spacingMs);
      if (rate.recordSuccess(nowMs)) throttledAt = Number.POSITIVE_INFINITY;
      coolDownsInARow = 0;
      successes += 1;
      if (mayRaise(nowMs)) {
        concurrencyNow += 1;
        successes = 0;
      }
    },
    recordThrottled: (ordinal: number, retryAfterMs: number | undefined): void => {
      const nowMs = clock.monotonicMs();
      lastEventMs = nowMs;
      const askedMs = Math.min(retryAfterMs ?? 0, retryMaxDelayMs);
      if (ordinal <= lastBeforeCoolDown) {
        coolingUntilMs = Math.max(coolingUntilMs, nowMs + askedMs);
        return;
      }
      coolDownsInARow += 1;
      rate.recordThrottled(nowMs);
      recordThrottledConcurrency(nowMs);
      concurrencyNow = Math.max(1, Math.floor(concurrencyNow / 2));
      successes = 0;
      lastBeforeCoolDown = started;
      coolingUntilMs = nowMs + Math.max(askedMs, backoff(coolDownsInARow, coolDown, jitter));
    },
  };
}

/** Allows as many requests in flight as the limiter, over all streams, first come first served. */
export function createSemaphore(limiter: Limiter) {
  const queue = pLimit(1);
  const ends = new EventEmitter();
  let inFlight = 0;

  async function start(signal: AbortSignal): Promise<number> {
    for (;;) {
      signal.throwIfAborted();
      const waitMs = Math.max(limiter.coolingMs(), limiter.pacingMs());
      if (waitMs > 0) await sleep(waitMs, signal);
      else if (inFlight >= limiter.concurrencyNow) await once(ends, 'end', { signal }).catch(() => undefined);
      else {
        inFlight += 1;
        return limiter.recordStart();
      }
    }
  }

  return {
    get inFlight(): number {
      return inFlight;
    },
    get waiting(): number {
      return queue.activeCount + queue.pendingCount;
    },
    /**
     * Waits until a request may start, and returns its ordinal, which identifies it for the limiter. Rejects with the
     * reason of an aborted signal; if the signal is aborted while other requests are ahead, only after them.
     */
    enter: (signal: AbortSignal): Promise<number> => queue(() => start(signal)),
    /** The request has ended. */
    leave: (): void => {
      inFlight -= 1;
      ends.emit('end');
    },
  };
}
