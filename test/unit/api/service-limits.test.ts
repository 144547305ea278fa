import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { casesOf } from '../../support/proof.ts';
import {
  atOneTime,
  changing,
  fixedWindow,
  oneIn,
  throttlingAll,
  type ServiceLimit,
  simulateLimit,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../support/service-limits.ts';

const LIMITS: readonly (readonly [string, () => ServiceLimit])[] = [
  ['60 in each minute', () => fixedWindow(60, MINUTE_MS)],
  ['600 in each minute', () => fixedWindow(600, MINUTE_MS)],
  ['100 in each 10 seconds', () => fixedWindow(100, 10 * SECOND_MS)],
  ['20 in each second', () => fixedWindow(20, SECOND_MS)],
  ['100 within any minute', () => slidingWindow(100, MINUTE_MS)],
  ['50 within any 10 seconds', () => slidingWindow(50, 10 * SECOND_MS)],
  ['a token a second, 60 at once', () => tokenBucket(1, 60)],
  ['10 tokens a second, 20 at once', () => tokenBucket(10, 20)],
  ['30 tokens a second, one at once', () => tokenBucket(30, 1)],
  ['any number of requests', () => ({ admit: () => true, allows: () => Infinity })],
  [
    '600 in each minute, and 300 after half an hour',
    () => changing(fixedWindow(600, MINUTE_MS), 30 * MINUTE_MS, fixedWindow(300, MINUTE_MS)),
  ],
  [
    '300 in each minute, and 600 after half an hour',
    () => changing(fixedWindow(300, MINUTE_MS), 30 * MINUTE_MS, fixedWindow(600, MINUTE_MS)),
  ],
];

/** An hour or more of asking a service under each limit, once for each seed. */
const seeds = casesOf({ few: [1], all: [1, 2, 3, 4, 5] });

/** The share in use of a service without a limit, in the minute that begins so long after the change. */
function usedAfter(
  before: ServiceLimit,
  { beforeMs, minutes }: { beforeMs: number; minutes: number },
): number[] {
  return seeds.map((seed) => {
    const fromMs = beforeMs + minutes * MINUTE_MS;
    const limit = changing(before, beforeMs, unlimited());
    return simulateLimit(limit, { seed, fromMs, durationMs: fromMs + MINUTE_MS }).usedShare;
  });
}

test.each(LIMITS)(
  'with a limit of %s, at least 90% of it is used in an hour, and less than 2% of the requests are throttled',
  (_, limit) => {
    for (const seed of seeds) {
      const { usedShare, throttledShare } = simulateLimit(limit(), { seed });
      expect(usedShare, `seed ${seed}`).toBeGreaterThanOrEqual(0.9);
      expect(throttledShare, `seed ${seed}`).toBeLessThan(0.02);
    }
  },
);

// No rate keeps requests of different lengths from meeting: some of what is allowed stays unused.
test.each([2, 5])(
  'with a limit of %d requests at one time, at least 80% of it is used, and less than 0.2% of the requests are throttled',
  (requests) => {
    for (const seed of seeds) {
      const { usedShare, throttledShare } = simulateLimit(atOneTime(requests), { seed });
      expect(usedShare, `seed ${seed}`).toBeGreaterThanOrEqual(0.8);
      expect(throttledShare, `seed ${seed}`).toBeLessThan(0.002);
    }
  },
);

test.each([1, 2, 24])(
  'after %d hours of throttling, a service without a limit receives requests at full speed a minute later',
  (hours) => {
    for (const share of usedAfter(throttlingAll(), { beforeMs: hours * HOUR_MS, minutes: 1 })) {
      expect(share).toBeGreaterThan(0.99);
    }
  },
);

test.each([
  ['one in two', () => oneIn(2)],
  ['one in five', () => oneIn(5)],
  ['one in fifty', () => oneIn(50)],
  ['two in each minute', () => fixedWindow(2, MINUTE_MS)],
] as const)(
  'after three hours with only %s accepted, a service without a limit receives requests at full speed twenty minutes later',
  (_, limit) => {
    for (const share of usedAfter(limit(), { beforeMs: 3 * HOUR_MS, minutes: 20 })) {
      expect(share).toBeGreaterThan(0.95);
    }
  },
);
