import { describe, expect, test } from 'vitest';
import {
  halve,
  readCreationOrder,
  timeOf,
  toCreationFilters,
  watermarkOf,
} from '../../../src/reading/creation-slice.ts';
import { updatedAfter } from '../../../src/reading/incremental.ts';
import { createRandom } from '../../support/seeded-random.ts';

const created = (...times: unknown[]) => times.map((created_on) => ({ created_on }));
const updated = (...times: unknown[]) => times.map((updated_on) => ({ updated_on }));

test('a slice is asked for by exclusive bounds', () => {
  expect(toCreationFilters({ from: 100, to: 200 })).toEqual({ created_after: 99, created_before: 200 });
  expect(toCreationFilters({ from: null, to: null })).toEqual({});
});

test('a time is a number or its text, and nothing else', () => {
  expect(timeOf({ at: '1700000000000' }, 'at')).toBe(1_700_000_000_000);
  for (const at of [undefined, null, '', 'noon', NaN, {}, '-5x'])
    expect(timeOf({ at }, 'at')).toBeUndefined();
  expect(timeOf('no record', 'at')).toBeUndefined();
});

test('the order of creation is newest first only when every record tells and none is newer than the one before', () => {
  expect(readCreationOrder(created(9, 9, 3))).toEqual({ oldestMs: 3, newestMs: 9, isNewestFirst: true });
  expect(readCreationOrder(created(3, 9))).toMatchObject({ oldestMs: 3, newestMs: 9, isNewestFirst: false });
  expect(readCreationOrder(created(9, null, 3))).toMatchObject({ isNewestFirst: false });
  expect(readCreationOrder(created('?'))).toBeUndefined();
  expect(readCreationOrder([])).toBeUndefined();
});

test('two halves are exactly the whole, and every division comes to an end', () => {
  const random = createRandom(3);
  for (let round = 0; round < 500; round += 1) {
    const from = random.below(1e12);
    let slice = { from, to: from + 1 + random.below(1e9) };
    for (let depth = 0; ; depth += 1) {
      expect(depth).toBeLessThan(50);
      const halves = halve(slice, { oldestMs: slice.from, newestMs: slice.to - 1, isNewestFirst: false });
      if (halves === undefined) break;
      const [newer, older] = halves;
      expect([older.from, newer.to]).toEqual([slice.from, slice.to]);
      expect(older.to).toBe(newer.from);
      slice = (random.below(2) === 0 ? older : newer) as typeof slice;
    }
    expect(slice.to - slice.from).toBe(1);
  }
});

describe('the watermark', () => {
  test('is the latest time that the service sent and the clock allows', () => {
    expect(watermarkOf(updated(5, 9, 7), { serviceMs: 100, ourMs: 5000 })).toBe(9);
    expect(watermarkOf(updated(5, 900, 7), { serviceMs: 100, ourMs: 5000 })).toBe(7);
    expect(watermarkOf(updated(5, 100), { serviceMs: 100, ourMs: 5000 })).toBe(100);
    expect(watermarkOf(updated('6', null, {}, 'x'), { serviceMs: 100, ourMs: 5000 })).toBe(6);
  });

  test('is unknown where no record tells', () => {
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
