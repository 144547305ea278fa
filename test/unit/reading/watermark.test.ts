import { Received } from '../../../src/shared/received.ts';
import { describe, expect, test } from 'vitest';
import {
  laterWatermark,
  nextWatermark,
  readFrom,
  updatedAfter,
  watermarkOf,
  wentBackBy,
} from '../../../src/engine/reading/watermark.ts';

/** The service's clock shows so much when ours shows 1,000,000. */
const at = (serviceMs: number | undefined) => ({ serviceMs, ourMs: 1_000_000 });
const stored = (ms: number, clockOffsetMs: number | null = 0) => ({ ms, clockOffsetMs });

describe('how far the service’s clock went back', () => {
  test.each([
    ['not at all', 0, 1_000_000, 0],
    ['less than a Date header and a response’s way can hide', 5000, 1_000_000, 0],
    ['more than that', 5001, 1_000_000, 5001],
    ['it went ahead', -60_000, 1_000_000, 0],
    ['it sent no time then', null, 1_000_000, 0],
    ['it sends no time now', 60_000, undefined, 0],
  ])('%s', (_name, noted, serviceMs, expected) => {
    expect(wentBackBy(noted, at(serviceMs))).toBe(expected);
  });
});

describe('where reading begins', () => {
  test.each([
    ['at the watermark', stored(990_000), 1_000_000, 990_000],
    ['by so much earlier as the clock went back', stored(990_000, 60_000), 1_000_000, 930_000],
    ['at the service’s time, where the watermark lies beyond it', stored(990_000), 900_000, 900_000],
    [
      'at our time, where the service sends none and the watermark lies beyond ours',
      stored(2e6),
      undefined,
      1e6,
    ],
    [
      'at the watermark, where the times differ by a few seconds only',
      stored(1_004_000),
      1_000_000,
      1_004_000,
    ],
  ])('%s', (_name, watermark, serviceMs, expected) => {
    // The offset of 900,000 is equal: only the watermark differs.
    const clock = at(serviceMs);
    const offset = serviceMs === 900_000 ? -100_000 : watermark.clockOffsetMs;
    expect(readFrom({ ...watermark, clockOffsetMs: offset }, clock)).toBe(expected);
  });
});

describe('the next watermark', () => {
  test.each([
    ['goes on to what was seen', stored(900_000), 950_000, 1_000_000, stored(950_000)],
    ['stays where nothing newer was seen', stored(900_000, 3), 899_000, 1_000_000, stored(900_000, 3)],
    ['stays where no record has a time', stored(900_000, 3), undefined, 1_000_000, stored(900_000, 3)],
    ['comes down with the clock', stored(900_000, 60_000), 850_000, 1_000_000, stored(850_000)],
    ['comes down no further than the clock', stored(900_000, 60_000), 800_000, 1_000_000, stored(840_000)],
    ['is never beyond the service’s time', stored(900_000), undefined, 880_000, stored(780_000, -120_000)],
    ['keeps what is known of the clock', stored(900_000, 3), 950_000, undefined, stored(950_000, 3)],
    ['of a first read is what was seen', null, 950_000, 1_000_000, stored(950_000)],
    ['of a first read without a time is none', null, undefined, 1_000_000, null],
  ])('%s', (_name, watermark, seenMs, serviceMs, expected) => {
    expect(nextWatermark(watermark, { seenMs, clock: at(serviceMs) })).toEqual(expected);
  });
});

test('our clock decides which of two watermarks is the later one', () => {
  const ahead = stored(900_000, 60_000);
  const right = stored(850_000, 0);
  expect(laterWatermark(ahead, right)).toBe(right);
  expect(laterWatermark(right, ahead)).toBe(right);
  expect(laterWatermark(stored(900_000, null), right)).toEqual(stored(900_000, null));
  expect(laterWatermark(null, right)).toBe(right);
  expect(laterWatermark(right, null)).toBe(right);
});

const updated = (...times: unknown[]) => times.map((updated_on) => Received.of({ updated_on }));

describe('the watermark', () => {
  test('is the latest time that the service sent and the clock allows', () => {
    expect(watermarkOf(updated(5, 9, 7), { serviceMs: 100, ourMs: 5000 })).toBe(9);
    expect(watermarkOf(updated(5, 900, 7), { serviceMs: 100, ourMs: 5000 })).toBe(7);
    expect(watermarkOf(updated(5, 100), { serviceMs: 100, ourMs: 5000 })).toBe(100);
    expect(watermarkOf(updated('6', null, {}, 'x'), { serviceMs: 100, ourMs: 5000 })).toBe(6);
  });

  test('is unknown where no record has a time', () => {
    expect(watermarkOf([], { serviceMs: 100, ourMs: 5000 })).toBeUndefined();
  });

  test('is the clock of the response where all records lie beyond it, never a clock of ours', () => {
    expect(watermarkOf(updated(900, 901), { serviceMs: 100, ourMs: 5000 })).toBe(100);
    expect(watermarkOf(updated(900, 901), { serviceMs: undefined, ourMs: 100 })).toBeUndefined();
    expect(watermarkOf(updated(90, 901), { serviceMs: undefined, ourMs: 100 })).toBe(90);
  });

  test('is asked behind by the overlap and one millisecond', () => {
    expect(updatedAfter(1_000_000, 600_000)).toBe(399_999);
    expect(updatedAfter(5, 600_000)).toBe(0);
  });
});
