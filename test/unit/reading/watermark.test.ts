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

describe('by how much the clock of the service moved back', () => {
  test.each([
    ['its time is unchanged', 0, 1_000_000, 0],
    ['it moved back by less than a Date header and the way of a response can hide', 5000, 1_000_000, 0],
    ['it moved back by more than a Date header and the way of a response can hide', 5001, 1_000_000, 5001],
    ['it moved ahead', -60_000, 1_000_000, 0],
    ['it sent no time before', null, 1_000_000, 0],
    ['it sends no time now', 60_000, undefined, 0],
  ])(
    'a move of the clock of the service is measured from its stored offset: %s',
    (_name, noted, serviceMs, expected) => {
      expect(wentBackBy(noted, at(serviceMs))).toBe(expected);
    },
  );
});

describe('where reading begins', () => {
  test.each([
    ['at the watermark', stored(990_000), 1_000_000, 990_000],
    ['earlier by the time that the clock moved back', stored(990_000, 60_000), 1_000_000, 930_000],
    ['at the time of the service, if the watermark is later', stored(990_000), 900_000, 900_000],
    ['at the local time, if the service sends none and the watermark is later', stored(2e6), undefined, 1e6],
    ['at the watermark, if the times differ by a few seconds only', stored(1_004_000), 1_000_000, 1_004_000],
  ])('reading begins %s', (_name, watermark, serviceMs, expected) => {
    // The offset of 900,000 is equal: only the watermark differs.
    const clock = at(serviceMs);
    const offset = serviceMs === 900_000 ? -100_000 : watermark.clockOffsetMs;
    expect(readFrom({ ...watermark, clockOffsetMs: offset }, clock)).toBe(expected);
  });
});

describe('the next watermark', () => {
  test.each([
    ['moves to the newest time of a record', stored(900_000), 950_000, 1_000_000, stored(950_000)],
    ['stays if no record is newer', stored(900_000, 3), 899_000, 1_000_000, stored(900_000, 3)],
    ['stays if no record has a time', stored(900_000, 3), undefined, 1_000_000, stored(900_000, 3)],
    ['moves back with the clock', stored(900_000, 60_000), 850_000, 1_000_000, stored(850_000)],
    ['moves back no further than the clock', stored(900_000, 60_000), 800_000, 1_000_000, stored(840_000)],
    [
      'is never beyond the time of the service',
      stored(900_000),
      undefined,
      880_000,
      stored(780_000, -120_000),
    ],
    [
      'keeps the stored clock offset if the service sends no time',
      stored(900_000, 3),
      950_000,
      undefined,
      stored(950_000, 3),
    ],
    ['is the newest time of a record after a first read', null, 950_000, 1_000_000, stored(950_000)],
    ['is null after a first read without a time', null, undefined, 1_000_000, null],
  ])('the next watermark %s', (_name, watermark, seenMs, serviceMs, expected) => {
    expect(nextWatermark(watermark, { seenMs, clock: at(serviceMs) })).toEqual(expected);
  });
});

test('the local clock decides which of two watermarks is later', () => {
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
  test('the watermark is the latest time of a record that is not beyond the clock of the service', () => {
    expect(watermarkOf(updated(5, 9, 7), { serviceMs: 100, ourMs: 5000 })).toBe(9);
    expect(watermarkOf(updated(5, 900, 7), { serviceMs: 100, ourMs: 5000 })).toBe(7);
    expect(watermarkOf(updated(5, 100), { serviceMs: 100, ourMs: 5000 })).toBe(100);
    expect(watermarkOf(updated('6', null, {}, 'x'), { serviceMs: 100, ourMs: 5000 })).toBe(6);
  });

  test('the watermark is undefined if no record has a time', () => {
    expect(watermarkOf([], { serviceMs: 100, ourMs: 5000 })).toBeUndefined();
  });

  test('the watermark is the clock of the response if all records are beyond it, but never the local clock', () => {
    expect(watermarkOf(updated(900, 901), { serviceMs: 100, ourMs: 5000 })).toBe(100);
    expect(watermarkOf(updated(900, 901), { serviceMs: undefined, ourMs: 100 })).toBeUndefined();
    expect(watermarkOf(updated(90, 901), { serviceMs: undefined, ourMs: 100 })).toBe(90);
  });

  test('changes are requested from the watermark minus the overlap and one millisecond', () => {
    expect(updatedAfter(1_000_000, 600_000)).toBe(399_999);
    expect(updatedAfter(5, 600_000)).toBe(0);
  });
});
