import { describe, expect, test } from 'vitest';
import { hasLostKeys } from '../../../src/engine/loading/keyless.ts';

describe('among the records without a key is one that had one at the last complete read', () => {
  test.each([
    ['the first one', [], [], ['a'], ['1'], 0, true],
    ['none came', ['a'], ['1'], [], ['1'], 0, false],
    ['the same as before', ['a'], ['1'], ['a'], ['1', '2'], 0, false],
    ['the same, while new records came', ['a'], ['1'], ['a'], ['1', '2'], 5, false],
    ['the same with another content', ['a'], ['1'], ['b'], ['1', '2'], 0, false],
    ['another content, while a new record came, which may be the old one', ['a'], [], ['b'], ['2'], 1, true],
    ['one more', ['a'], ['1'], ['a', 'b'], ['1', '2'], 0, true],
    ['one more of the same content', ['a'], ['1'], ['a', 'a'], ['1', '2'], 0, true],
    ['one whose row came back, and another', ['a'], ['1'], ['b'], ['2'], 0, true],
    ['one whose row came back, and another of the same content', ['a'], ['1'], ['a'], ['2'], 0, true],
    ['two, of which one came back', ['a', 'b'], ['1', '2'], ['b'], ['2'], 0, false],
    ['more rows came back than records were without a key', ['a'], ['1', '2', '3'], [], [], 0, false],
  ] as const)('%s', (_name, before, kept, now, missing, appeared, isNew) => {
    expect(
      hasLostKeys({
        before: { fingerprints: before, kept },
        fingerprints: now,
        missing: new Set<string>(missing),
        appeared,
      }),
    ).toBe(isNew);
  });
});
