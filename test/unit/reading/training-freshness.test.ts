import { expect, test } from 'vitest';
import { readLastUpdated } from '../../../src/engine/reading/cached-list.ts';

test.each([
  [1_700_000_000_000.7, 1_700_000_000_000],
  ['1700000000000', 1_700_000_000_000],
  [-62_135_596_800_000, -62_135_596_800_000],
  [-62_135_596_800_001, undefined],
  [253_402_300_800_000, undefined],
  [-8.64e15, undefined],
  ['', undefined],
  [null, undefined],
])(
  'a last_updated of %j is the time %s, because PostgreSQL cannot store others',
  (last_updated, expected) => {
    expect(readLastUpdated({ envelope: { last_updated } })).toBe(expected);
  },
);
