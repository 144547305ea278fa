import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test.each(MUTATIONS.map((mutation) => [mutation.breaks, mutation] as const))(
  'the break “%s” still finds its place, exactly once, and the tests that must notice it exist',
  (_, { file, search, replace, tests }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(search)).toHaveLength(2);
    expect(replace).not.toBe(search);
    expect(tests.filter((one) => !existsSync(join(ROOT, one)))).toEqual([]);
  },
);

test('every point of what always holds is broken at least once', () => {
  expect([...new Set(MUTATIONS.map(({ invariant }) => invariant))].toSorted()).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
});
