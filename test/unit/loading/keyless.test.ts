/** Rows that are kept because records came without a key (contract, 5.4 and 5.5). */
import { expect, test } from 'vitest';
import { rememberKeyless } from '../../../src/engine/loading/keyless.ts';

test.each([
  ['the first one', 0, [], 1, ['1'], 0, ['1']],
  ['none came', 1, ['1'], 0, ['1'], 0, []],
  ['as many as before', 1, ['1'], 1, ['1', '2'], 0, ['1']],
  ['as many as before, while a new row came, which may be the old one', 1, [], 1, ['2'], 1, ['2']],
  ['one more', 1, ['1'], 2, ['1', '2'], 0, ['1', '2']],
  ['one whose row came back, and another', 1, ['1'], 1, ['2'], 0, ['2']],
  ['two, of which one came back', 2, ['1', '2'], 1, ['2'], 0, ['2']],
  ['more rows came back than records were without a key', 1, ['1', '2', '3'], 0, [], 0, []],
] as const)('%s', (_name, countBefore, keptBefore, count, missing, appeared, kept) => {
  const before = { count: countBefore, kept: keptBefore };
  expect(rememberKeyless({ before, count, missing: new Set<string>(missing), appeared })).toEqual({
    count,
    kept,
  });
});
