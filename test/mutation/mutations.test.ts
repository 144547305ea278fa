import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Mutation, MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
/** Texts of all tests, with the names of tests. */
const testTexts = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('mutation'))
  .map((file) => textOf(join('test', file)))
  .join('\n');

/** The defects of an entry; a break compiles or not: see mutations.proof.ts. */
function defectsOf({ file, search, replace, tests, names }: Mutation): string[] {
  const found = existsSync(join(ROOT, file)) ? textOf(file).split(search).length - 1 : 0;
  // A filter that matches no test would let every break pass.
  const parts = names?.split(/[|:]/).map((part) => part.trim()) ?? [];
  return [
    ...(found === 1 ? [] : [`its text is in ${file} ${found} times`]),
    ...(replace === search ? ['it changes nothing'] : []),
    ...tests.filter((one) => !existsSync(join(ROOT, one))).map((one) => `there is no ${one}`),
    ...parts.filter((part) => !testTexts.includes(part)).map((part) => `no test is called "${part}"`),
  ];
}

test('every break finds its place, exactly once, and the tests that detect it exist', () => {
  const defects = MUTATIONS.flatMap((one) => defectsOf(one).map((defect) => `${one.breaks}: ${defect}`));
  expect(defects).toEqual([]);
});

test('the list holds at most 60 breaks, because a tool makes all others', () => {
  expect(MUTATIONS.length).toBeLessThanOrEqual(60);
});

test('every point of "What always holds" is broken at least once', () => {
  expect([...new Set(MUTATIONS.map(({ invariant }) => invariant))].toSorted()).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8,
  ]);
});
