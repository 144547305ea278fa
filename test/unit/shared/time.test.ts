import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS, sleep, withTimeout } from '../../../src/shared/time.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe('a sleep', () => {
  it('ends at its time, also one that is longer than a timer can hold does not end at once', async () => {
    let ended = 0;
    void sleep(5_000).then(() => (ended += 1));
    void sleep(60 * DAY_MS).then(() => (ended += 1));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended).toBe(1);
  });

  it('ends as soon as its signal is aborted, and leaves no timer behind', async () => {
    const stopping = new AbortController();
    const asleep = sleep(5_000, stopping.signal);
    stopping.abort();
    await asleep;
    await sleep(5_000, stopping.signal);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a timeout', () => {
  it('is given the value of work that ends in time, and leaves no timer behind', async () => {
    expect(await withTimeout(Promise.resolve(7), 5_000)).toEqual({ inTime: true, value: 7 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes on the failure of work in time, and ignores one that comes later', async () => {
    await expect(withTimeout(Promise.reject(new Error('broken')), 5_000)).rejects.toThrow('broken');
    const late = sleep(6_000).then(() => Promise.reject(new Error('too late')));
    const waited = withTimeout(late, 5_000);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(await waited).toEqual({ inTime: false });
  });
});
