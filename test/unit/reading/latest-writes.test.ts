import { expect, test } from 'vitest';
import { latestWrites, type ControlWrite } from '../../../src/engine/reading/step.ts';

test('only the last write of a slice is kept, and the other writes keep their order', () => {
  const slice = (fromMs: number, readToMs: number) =>
    ({ kind: 'slice', slice: { fromMs, toMs: fromMs + 9, readToMs } }) as unknown as ControlWrite;
  const lookups = { kind: 'lookups', begunAt: '', results: [], usable: [] } as ControlWrite;
  const [first, second, other] = [slice(1, 8), slice(1, 5), slice(20, 25)];
  expect(latestWrites([first, lookups, other, second, lookups])).toEqual([lookups, other, second, lookups]);
  expect(latestWrites([])).toEqual([]);
});

test('a cut replaces earlier writes of its slice, because one of its pieces may have the same range', () => {
  const range = { fromMs: 1, toMs: 2 };
  const read = { kind: 'slice', slice: { ...range, status: 'pending' } } as unknown as ControlWrite;
  const hole = { kind: 'cut', slice: range, pieces: [{ ...range, failures: 1 }] } as unknown as ControlWrite;
  expect(latestWrites([read, hole])).toEqual([hole]);
  expect(latestWrites([hole, read])).toEqual([hole, read]);
});
