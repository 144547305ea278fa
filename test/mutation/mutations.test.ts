import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Mutation, MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
/** Texts of the batteries, which hold names of tests. */
const batteryTexts = readdirSync(join(ROOT, 'test/support'))
  .map((file) => textOf(join('test/support', file)))
  .join('\n');

/** The defects of an entry. */
function defectsOf({ file, search, replace, tests }: Mutation): string[] {
  const found = existsSync(join(ROOT, file)) ? textOf(file).split(search).length - 1 : 0;
  const chosen = tests.map((test) => test.split(' > '));
  return [
    ...(found === 1 ? [] : [`its text is in ${file} ${found} times`]),
    ...(replace === search ? ['it changes nothing'] : []),
    ...chosen.flatMap(([test = '', name = '']) => {
      if (!existsSync(join(ROOT, test))) return [`there is no ${test}`];
      // A filter that matches no test would let every break pass.
      return (textOf(test) + batteryTexts).includes(name) ? [] : [`no test of ${test} is called "${name}"`];
    }),
  ];
}

test('the search text of every break is in its file exactly once, and the tests that detect the break exist', () => {
  const defects = MUTATIONS.flatMap((one) => defectsOf(one).map((defect) => `${one.breaks}: ${defect}`));
  expect(defects).toEqual([]);
});

test('the list holds at most 20 breaks, because a tool makes all others', () => {
  expect(MUTATIONS.length).toBeLessThanOrEqual(20);
});
