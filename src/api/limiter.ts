import { MINUTE_MS, SECOND_MS } from '../shared/time.ts';
import type { Clock } from '../shared/time.ts';
import { createLearnedRate } from './learned-rate.ts';

/** How many times the present concurrency must succeed before one more request may be in flight. */
const SUCCESSES_PER_STEP = 4;
/** How long a concurrency that was refused is not tried again; twice as long each time that it is refused again. */
const SHORTEST_HOLD_MS = MINUTE_MS;
const LONGEST_HOLD_MS = 16 * MINUTE_MS;
/** Nothing asked for so long: nobody wanted to. */
const IDLE_MS = SECOND_MS;

export interface LimiterOptions {
  /** Most requests in flight. */
  readonly concurrency: number;
  /** Evenly spaced upper bound; undefined is none. */
  readonly requestsPerMinute: number | undefined;
  readonly minCoolDownMs: number;
  readonly maxCoolDownMs: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/**
 * Decides when a request may start and how many may be in flight; it neither waits nor sends, so it can be simulated.
 *
 * A refusal for too many requests begins one cool-down for all: nothing starts in it, and the concurrency is halved.
 * Other requests of the same wave, in flight when it began, are refused for the same reason and change nothing. The
 * cool-downs grow until a request succeeds that started after the newest one; successes bring the concurrency back
 * one by one, but for a while not to where it was refused. Requests are spaced by the rate that refusals have taught
 * (learned-rate.ts), or further apart where a bound is set.
 *
 * All times are those of the monotonic clock.
 */
export interface Limiter {
  readonly concurrencyNow: number;
  /** 0 when nothing cools down. */
  readonly coolingMs: () => number;
  /** How long until the next request may start by the requests-per-minute bound. */
  readonly pacingMs: () => number;
  /** Call when a request is sent; its ordinal names it in the notes below. */
  noteStart(): number;
  noteSuccess(ordinal: number): void;
  noteRefusal(ordinal: number, retryAfterMs: number | undefined): void;
}

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, minCoolDownMs, maxCoolDownMs } = options;
  const spacingMs = options.requestsPerMinute === undefined ? 0 : MINUTE_MS / options.requestsPerMinute;
  let concurrencyNow = options.concurrency;
  let nextStartMs = Number.NEGATIVE_INFINITY;
  let coolingUntilMs = Number.NEGATIVE_INFINITY;
  let coolDownsInARow = 0;
  let started = 0;
  /** Requests up to this ordinal were sent before the newest cool-down. */
  let lastOfWave = 0;
  let successes = 0;
  const learned = createLearnedRate({ nowMs: clock.monotonicMs(), maxCoolDownMs });
  let lastEventMs = clock.monotonicMs();
  /** The lowest concurrency that is refused, as far as we know, and until when that is believed. */
  let refusedAt = Number.POSITIVE_INFINITY;
  let holdMs = SHORTEST_HOLD_MS;
  let holdUntilMs = Number.NEGATIVE_INFINITY;

  const noteRefusedConcurrency = (nowMs: number): void => {
    holdMs = concurrencyNow === refusedAt ? Math.min(LONGEST_HOLD_MS, 2 * holdMs) : SHORTEST_HOLD_MS;
    refusedAt = concurrencyNow;
    holdUntilMs = nowMs + holdMs;
  };
  const mayStep = (nowMs: number): boolean =>
    concurrencyNow < options.concurrency &&
    successes >= SUCCESSES_PER_STEP * concurrencyNow &&
    (concurrencyNow + 1 < refusedAt || nowMs >= holdUntilMs);

  const drawCoolDownMs = (): number => {
    const ceiling = Math.min(maxCoolDownMs, minCoolDownMs * 2 ** coolDownsInARow);
    const floor = Math.min(minCoolDownMs, ceiling);
    return floor + options.random() * (ceiling - floor);
  };

  return {
    get concurrencyNow() {
      return concurrencyNow;
    },
    coolingMs: () => Math.max(0, coolingUntilMs - clock.monotonicMs()),
    pacingMs: () => Math.max(0, nextStartMs - clock.monotonicMs()),
    noteStart: () => {
      const nowMs = clock.monotonicMs();
      const idleMs = nowMs - Math.max(lastEventMs, coolingUntilMs, nextStartMs);
      if (idleMs > IDLE_MS) learned.noteIdle(idleMs);
      lastEventMs = nowMs;
      // Behind a cool-down one request goes ahead: others would only be refused with it.
      const aloneMs = learned.isProbing ? minCoolDownMs : 0;
      nextStartMs = nowMs + Math.max(spacingMs, learned.spacingMs, aloneMs);
      started += 1;
      return started;
    },
    noteSuccess: (ordinal) => {
      const nowMs = clock.monotonicMs();
      lastEventMs = nowMs;
      if (ordinal <= lastOfWave) return;
      if (learned.isProbing) nextStartMs = Math.min(nextStartMs, nowMs + spacingMs);
      if (learned.noteSuccess(nowMs)) refusedAt = Number.POSITIVE_INFINITY;
      coolDownsInARow = 0;
      successes += 1;
      if (mayStep(nowMs)) {
        concurrencyNow += 1;
        successes = 0;
      }
    },
    noteRefusal: (ordinal, retryAfterMs) => {
      const nowMs = clock.monotonicMs();
      lastEventMs = nowMs;
      const askedMs = Math.min(retryAfterMs ?? 0, maxCoolDownMs);
      if (ordinal <= lastOfWave) {
        coolingUntilMs = Math.max(coolingUntilMs, nowMs + askedMs);
        return;
      }
      coolDownsInARow += 1;
      learned.noteRefusal(nowMs);
      noteRefusedConcurrency(nowMs);
      concurrencyNow = Math.max(1, Math.floor(concurrencyNow / 2));
      successes = 0;
      lastOfWave = started;
      coolingUntilMs = nowMs + Math.max(askedMs, drawCoolDownMs());
    },
  };
}
