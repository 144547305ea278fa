import { Received } from '../../../src/shared/received.ts';
import { expect, test } from 'vitest';
import {
  cutEvenly,
  halve,
  readCreationOrder,
  toCreationFilters,
} from '../../../src/engine/reading/creation-slice.ts';
import { timeOf } from '../../../src/engine/reading/record-fields.ts';
import { casesOf } from '../../support/proof.ts';
import { createRandom } from '../../support/seeded-random.ts';

const created = (...times: unknown[]) => times.map((created_on) => Received.of({ created_on }));

test('a slice is requested by exclusive bounds', () => {
  expect(toCreationFilters({ fromMs: 100, toMs: 200 })).toEqual({ created_after: 99, created_before: 200 });
  expect(toCreationFilters({ fromMs: -Infinity, toMs: Infinity })).toEqual({});
});

test('a time is read from a number or a number as text, and from no other value', () => {
  expect(timeOf(Received.of({ updated_on: '1700000000000' }), 'updated_on')).toBe(1_700_000_000_000);
  for (const at of [undefined, null, '', 'noon', NaN, {}, '-5x'])
    expect(timeOf(Received.of({ updated_on: at }), 'updated_on')).toBeUndefined();
  expect(timeOf(Received.of('no record'), 'updated_on')).toBeUndefined();
});

test('records are newest first only if every record has a time and none is newer than the one before', () => {
  expect(readCreationOrder(created(9, 9, 3))).toEqual({ oldestMs: 3, newestMs: 9, isNewestFirst: true });
  expect(readCreationOrder(created(3, 9))).toMatchObject({ oldestMs: 3, newestMs: 9, isNewestFirst: false });
  expect(readCreationOrder(created(9, null, 3))).toMatchObject({ isNewestFirst: false });
  expect(readCreationOrder(created('?'))).toBeUndefined();
  expect(readCreationOrder([])).toBeUndefined();
});

test('two halves cover exactly their slice, and every division ends', () => {
  const random = createRandom(3);
  for (let round = 0; round < casesOf({ few: 100, all: 500 }); round += 1) {
    const fromMs = random.below(1e12);
    let slice = { fromMs, toMs: fromMs + 1 + random.below(1e9) };
    for (let depth = 0; ; depth += 1) {
      expect(depth).toBeLessThan(50);
      const halves = halve(slice, { oldestMs: slice.fromMs, newestMs: slice.toMs - 1, isNewestFirst: false });
      if (halves === undefined) break;
      const [newer, older] = halves;
      expect([older.fromMs, newer.toMs]).toEqual([slice.fromMs, slice.toMs]);
      expect(older.toMs).toBe(newer.fromMs);
      slice = random.below(2) === 0 ? older : newer;
    }
    expect(slice.toMs - slice.fromMs).toBe(1);
  }
});

test('a range is cut into a limited number of slices, with any announced total', () => {
  const slices = cutEvenly({ fromMs: 0, toMs: 1_800_000_000_000 }, 1e15);
  expect(slices).toHaveLength(1_000);
  expect(slices.at(-1)?.fromMs).toBe(0);
  expect(slices[0]?.toMs).toBe(1_800_000_000_000);
});
