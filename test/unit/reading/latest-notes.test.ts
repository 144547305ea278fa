import { expect, test } from 'vitest';
import { latestNotes, type Note } from '../../../src/engine/reading/step.ts';

test('only the last note about a slice is written, and the other notes keep their order', () => {
  const slice = (fromMs: number, readToMs: number) =>
    ({ kind: 'slice', slice: { fromMs, toMs: fromMs + 9, readToMs } }) as unknown as Note;
  const lookups = { kind: 'lookups', begunAt: '', results: [], usable: [] } as Note;
  const [first, second, other] = [slice(1, 8), slice(1, 5), slice(20, 25)];
  expect(latestNotes([first, lookups, other, second, lookups])).toEqual([lookups, other, second, lookups]);
  expect(latestNotes([])).toEqual([]);
});
