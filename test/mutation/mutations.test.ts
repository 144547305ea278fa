import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
/** Names of tests, also those that are put together. */
const testTexts = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('mutation'))
  .map((file) => textOf(join('test', file)))
  .join('\n');

test.each(MUTATIONS.map((mutation) => [mutation.breaks, mutation] as const))(
  'the break “%s” still finds its place, exactly once, and the tests that must notice it exist',
  (_, { file, search, replace, tests, names }) => {
    expect(textOf(file).split(search)).toHaveLength(2);
    expect(replace).not.toBe(search);
    expect(tests.filter((one) => !existsSync(join(ROOT, one)))).toEqual([]);
    // A filter that matches no test would pass whatever is broken.
    const parts = names?.split(/[|:]/).map((part) => part.trim()) ?? [];
    expect(parts.filter((part) => !testTexts.includes(part))).toEqual([]);
  },
);

test('every point of what always holds is broken at least once', () => {
  expect([...new Set(MUTATIONS.map(({ invariant }) => invariant))].toSorted()).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
});
