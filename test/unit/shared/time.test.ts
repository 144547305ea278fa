import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS, sleep, toMs, untilAborted, withTimeout } from '../../../src/shared/time.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe('a sleep', () => {
  it('a sleep ends at its time, also if that is longer than the longest timer', async () => {
    let ended = 0;
    void sleep(5_000).then(() => (ended += 1));
    void sleep(60 * DAY_MS).then(() => (ended += 1));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended).toBe(1);
  });

  it('a sleep ends at an abort of its signal, without a remaining timer', async () => {
    const stopping = new AbortController();
    const asleep = sleep(5_000, stopping.signal);
    let ended = 0;
    void untilAborted(stopping.signal).then(() => (ended += 1));
    void sleep(0).then(() => (ended += 1));
    await Promise.resolve();
    expect(ended).toBe(1);
    stopping.abort();
    await asleep;
    await untilAborted(stopping.signal);
    await sleep(5_000, stopping.signal);
    expect(ended).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it('a timeout returns the value of work that ends in time, rejects if it fails in time, and ignores a later failure', async () => {
  expect(await withTimeout(Promise.resolve(7), 5_000)).toEqual({ inTime: true, value: 7 });
  await expect(withTimeout(Promise.reject(new Error('broken')), 5_000)).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
  const waited = withTimeout(
    sleep(6_000).then(() => Promise.reject(new Error('too late'))),
    5_000,
  );
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await waited).toEqual({ inTime: false });
  expect(vi.getTimerCount()).toBe(0);
});

describe('a time of PostgreSQL', () => {
  it.each([
    ['2026-03-02 12:30:05.123456+00', '2026-03-02T12:30:05.123Z'],
    ['2026-03-02 12:30:05+02', '2026-03-02T10:30:05.000Z'],
    ['2026-03-02 12:30:05+05:30', '2026-03-02T07:00:05.000Z'],
    ['2026-03-02T12:30:05.123Z', '2026-03-02T12:30:05.123Z'],
    ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31 23:59:59.999+00', '0099-12-31T23:59:59.999Z'],
  ])('%s is read as %s', (text, expected) => {
    expect(new Date(toMs(text)).toISOString()).toBe(expected);
  });

  it('a time in another DateStyle than ISO is refused', () => {
    for (const text of ['12.05.2026 12:30:05+00', '+012026-03-02T12:30:05Z', 'infinity'])
      expect(() => toMs(text)).toThrow(`PostgreSQL returned "${text}" for a time`);
    expect(toMs(null)).toBeNull();
  });
});
