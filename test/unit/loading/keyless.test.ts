import { describe, expect, test } from 'vitest';
import { hasLostKeys } from '../../../src/engine/loading/keyless.ts';

describe('a record that lost its key since the last complete read', () => {
  test.each([
    ['one record, after none before', [], [], ['a'], ['1'], 0, true],
    ['no record', ['a'], ['1'], [], ['1'], 0, false],
    ['one record with equal content', ['a'], ['1'], ['a'], ['1', '2'], 0, false],
    ['one record with equal content, and new records with keys', ['a'], ['1'], ['a'], ['1', '2'], 5, false],
    ['one record with different content', ['a'], ['1'], ['b'], ['1', '2'], 0, false],
    [
      'one record with different content, and a new record with a key, which may be the old one',
      ['a'],
      [],
      ['b'],
      ['2'],
      1,
      true,
    ],
    ['two records, after one before', ['a'], ['1'], ['a', 'b'], ['1', '2'], 0, true],
    ['two records with equal content, after one before', ['a'], ['1'], ['a', 'a'], ['1', '2'], 0, true],
    ['another record, after the row of the old one returned', ['a'], ['1'], ['b'], ['2'], 0, true],
    [
      'another record with equal content, after the row of the old one returned',
      ['a'],
      ['1'],
      ['a'],
      ['2'],
      0,
      true,
    ],
    ['one record, after two before, of which one returned', ['a', 'b'], ['1', '2'], ['b'], ['2'], 0, false],
    ['no record, after more rows returned than records had no key', ['a'], ['1', '2', '3'], [], [], 0, false],
  ] as const)(
    'a lost key is found or excluded by records without a key: %s',
    (_name, before, kept, now, missing, appeared, isNew) => {
      expect(
        hasLostKeys({
          before: { fingerprints: before, kept },
          fingerprints: now,
          missing: new Set<string>(missing),
          appeared,
        }),
      ).toBe(isNew);
    },
  );
});
