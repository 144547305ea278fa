import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter } from '../../../src/engine/api/limiter.ts';
import type { Limiter, LimiterOptions } from '../../../src/engine/api/limiter.ts';
import { MOST_SPACING_MS } from '../../../src/engine/api/sending-rate.ts';

function simulate(options: Partial<LimiterOptions> = {}): { limiter: Limiter; pass: (ms: number) => void } {
  let nowMs = 1_000;
  const limiter = createLimiter({
    concurrency: 8,
    requestsPerMinute: undefined,
    retryMinDelayMs: 1_000,
    retryMaxDelayMs: 60_000,
    random: () => 0.5,
    clock: { now: () => 0, monotonicMs: () => nowMs },
    ...options,
  });
  return {
    limiter,
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

describe('when the service throttles', () => {
  test('if eight requests in flight are throttled, the concurrency is halved once and one cool-down begins', () => {
    const { limiter, pass } = simulate();
    const inFlight = Array.from({ length: 8 }, () => limiter.recordStart());
    for (const ordinal of inFlight) {
      limiter.recordThrottled(ordinal, undefined);
      pass(10);
    }
    expect(limiter.concurrencyNow).toBe(4);
    expect(limiter.coolingMs()).toBe(1_500 - 80);
  });

  test('a second throttled response halves the concurrency again, although an earlier request succeeded between', () => {
    const { limiter, pass } = simulate({ random: () => 0 });
    const early = limiter.recordStart();
    limiter.recordThrottled(limiter.recordStart(), undefined);
    limiter.recordSuccess(early);
    pass(1_000);
    expect(limiter.coolingMs()).toBe(0);
    limiter.recordThrottled(limiter.recordStart(), undefined);
    expect(limiter.concurrencyNow).toBe(2);
  });

  test('the concurrency never falls below one', () => {
    const { limiter } = simulate({ concurrency: 2 });
    for (let time = 0; time < 5; time += 1) limiter.recordThrottled(limiter.recordStart(), undefined);
    expect(limiter.concurrencyNow).toBe(1);
  });

  test('cool-downs grow from the shortest to the longest delay, and start again after a success', () => {
    const { limiter } = simulate({ retryMinDelayMs: 1_000, retryMaxDelayMs: 5_000, random: () => 1 });
    const lengths: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      limiter.recordThrottled(limiter.recordStart(), undefined);
      lengths.push(limiter.coolingMs());
    }
    limiter.recordSuccess(limiter.recordStart());
    limiter.recordThrottled(limiter.recordStart(), undefined);
    lengths.push(limiter.coolingMs());
    expect(lengths).toEqual([2_000, 4_000, 5_000, 5_000, 2_000]);
  });

  test('a delay that the service requests is applied, up to the longest delay', () => {
    const { limiter } = simulate({ retryMaxDelayMs: 30_000 });
    const [first, second] = [limiter.recordStart(), limiter.recordStart()];
    limiter.recordThrottled(first, 20_000);
    expect(limiter.coolingMs()).toBe(20_000);
    limiter.recordThrottled(second, 3_600_000);
    expect(limiter.coolingMs()).toBe(30_000);
  });

  test('successes raise the concurrency in steps, for a minute below the throttled value and never above the maximum', () => {
    const { limiter, pass } = simulate({ concurrency: 4 });
    limiter.recordThrottled(limiter.recordStart(), undefined);
    const steps: number[] = [];
    for (let count = 1; count <= 80; count += 1) {
      const before = limiter.concurrencyNow;
      if (count === 40) pass(60_000);
      limiter.recordSuccess(limiter.recordStart());
      if (limiter.concurrencyNow > before) steps.push(count);
    }
    expect(steps).toEqual([8, 40]);
    expect(limiter.concurrencyNow).toBe(4);
  });
});

test('requests per minute are evenly spaced', () => {
  const { limiter, pass } = simulate({ requestsPerMinute: 120 });
  expect(limiter.pacingMs()).toBe(0);
  limiter.recordStart();
  expect(limiter.pacingMs()).toBe(500);
  pass(499);
  expect(limiter.pacingMs()).toBe(1);
  pass(10_000);
  limiter.recordStart();
  expect(limiter.pacingMs()).toBe(500);
});

test('a schedule with one request in a quarter of an hour leads to no slow rate', () => {
  const { limiter, pass } = simulate();
  for (let tick = 0; tick < 5; tick += 1) {
    limiter.recordSuccess(limiter.recordStart());
    pass(900_000);
  }
  limiter.recordThrottled(limiter.recordStart(), undefined);
  pass(limiter.coolingMs());
  limiter.recordSuccess(limiter.recordStart());
  limiter.recordStart();
  expect(limiter.pacingMs()).toBeLessThan(1_000);
});

test('after a cool-down, one request is sent before all others', () => {
  const { limiter, pass } = simulate();
  for (const ordinal of [limiter.recordStart(), limiter.recordStart()])
    limiter.recordThrottled(ordinal, undefined);
  pass(limiter.coolingMs());
  expect(limiter.pacingMs()).toBe(0);
  const ahead = limiter.recordStart();
  expect(limiter.pacingMs()).toBe(1_000);
  pass(100);
  limiter.recordSuccess(ahead);
  expect(limiter.pacingMs()).toBe(0);
});

describe('after any throttling', () => {
  const request = fc.record({
    isRefused: fc.boolean(),
    isLate: fc.boolean(),
    thenMs: fc.constantFrom(1, 50, 1_000, 60_000, 300_000, 3_600_000),
  });

  test('no request is delayed by more than ten seconds after the one before', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 300 }), (requests) => {
        const { limiter, pass } = simulate({ random: () => 1 });
        for (const { isRefused, isLate, thenMs } of requests) {
          pass(limiter.coolingMs());
          expect(limiter.pacingMs()).toBeLessThanOrEqual(MOST_SPACING_MS);
          pass(limiter.pacingMs());
          const ordinal = limiter.recordStart();
          if (isLate) limiter.recordStart();
          pass(thenMs);
          if (isRefused) limiter.recordThrottled(ordinal, undefined);
          else limiter.recordSuccess(ordinal);
        }
      }),
      { numRuns: 500 },
    );
  });
});
