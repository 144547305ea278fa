import { expect, test } from 'vitest';
import { freshFor, readLastUpdated, remainingFreshness } from '../../../src/engine/reading/cached-list.ts';
import { createRandom } from '../../support/seeded-random.ts';

const CACHE_MS = 900_000;

test.each([
  [1_000_000, 1_000_000, CACHE_MS],
  [1_000_000, 600_000, 500_000],
  [1_000_000, 100_000, 0],
  [1_000_000, 1, 0],
  [1_000_000, 5_000_000, CACHE_MS],
  [1_000_000, undefined, 0],
])(
  'a calculation read at %i and calculated at %s remains the newest for %i ms',
  (readAt, calculatedAt, expected) => {
    expect(freshFor(CACHE_MS, readAt, calculatedAt)).toBe(expected);
  },
);

test.each([
  ['no request was sent before', null, 0],
  ['both clocks advanced equally', { atMs: 0, agoByDatabaseMs: 100_000, freshForMs: CACHE_MS }, 800_000],
  [
    'the local clock stands still',
    { atMs: 100_000, agoByDatabaseMs: 800_000, freshForMs: CACHE_MS },
    100_000,
  ],
  [
    'the time by the database clock has passed',
    { atMs: 100_000, agoByDatabaseMs: CACHE_MS, freshForMs: CACHE_MS },
    0,
  ],
  ['the local clock moved back', { atMs: 100_001, agoByDatabaseMs: 0, freshForMs: CACHE_MS }, 0],
  ['the database clock moved back', { atMs: 100_000, agoByDatabaseMs: -1, freshForMs: CACHE_MS }, 0],
] as const)('the remaining freshness is correct if %s', (_name, check, expected) => {
  expect(remainingFreshness(check, 100_000)).toBe(expected);
});

test('the remaining freshness is at most the duration of the cache, with any clocks', () => {
  const random = createRandom(4);
  for (let round = 0; round < 5000; round += 1) {
    const anywhere = () => random.below(4e9) - 2e9;
    const freshForMs = freshFor(CACHE_MS, anywhere(), anywhere());
    const check = { atMs: anywhere(), agoByDatabaseMs: anywhere(), freshForMs };
    expect(remainingFreshness(check, anywhere())).toBeLessThanOrEqual(CACHE_MS);
  }
});

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
