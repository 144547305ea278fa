import { describe, expect, test } from 'vitest';
import { backoff, retrying } from '../../../src/shared/backoff.ts';

const DELAYS = { firstMs: 100, mostMs: 1_000 };

describe('the delay after failures', () => {
  test('the delay after failures begins with the first delay and doubles up to the longest', () => {
    expect([1, 2, 3, 4, 5, 6].map((failures) => backoff(failures, DELAYS))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });

  test('the delay after failures grows by another factor if one is given', () => {
    expect([1, 2, 3].map((failures) => backoff(failures, { ...DELAYS, factor: 3 }))).toEqual([100, 300, 900]);
  });

  test('the delay after any number of failures is a number, also if the first delay is 0', () => {
    expect(backoff(1e9, DELAYS)).toBe(1_000);
    expect(backoff(1e9, { firstMs: 0, mostMs: 1_000 })).toBe(0);
  });

  test('the delay with jitter is between the least and the full delay, and never above the longest', () => {
    const drawn = (random: number, leastMs?: number) =>
      backoff(3, DELAYS, { random: () => random, ...(leastMs === undefined ? {} : { leastMs }) });
    expect([drawn(0), drawn(0.5), drawn(1)]).toEqual([0, 200, 400]);
    expect([drawn(0, 100), drawn(0.5, 100), drawn(1, 100)]).toEqual([100, 250, 400]);
    expect(drawn(0, 5_000)).toBe(400);
  });
});

describe('repeated work', () => {
  const failing = (times: number) => {
    let calls = 0;
    const work = () => {
      calls += 1;
      return calls > times ? Promise.resolve(calls) : Promise.reject(new Error(`attempt ${calls}`));
    };
    return { work, calls: () => calls };
  };
  const delays = { firstMs: 1, mostMs: 1 };

  test('repeated work ends with its first success', async () => {
    expect(await retrying(failing(2).work, { mostAttempts: 3, delays })).toBe(3);
  });

  test('repeated work rejects with the last error when no attempt remains', async () => {
    await expect(retrying(failing(3).work, { mostAttempts: 3, delays })).rejects.toThrow('attempt 3');
  });

  test('work is not repeated after a final error', async () => {
    const { work, calls } = failing(9);
    await expect(retrying(work, { mostAttempts: 9, delays, isFinal: () => true })).rejects.toThrow(
      'attempt 1',
    );
    expect(calls()).toBe(1);
  });

  test('work is not repeated after an abort, which also ends the delay', async () => {
    const { work, calls } = failing(9);
    const long = { firstMs: 3_600_000, mostMs: 3_600_000 };
    const signal = AbortSignal.timeout(20);
    await expect(retrying(work, { mostAttempts: 9, delays: long, signal })).rejects.toThrow('attempt 1');
    expect(calls()).toBe(1);
  });
});
