import { expect, test } from 'vitest';
import type { StreamSession } from '../../../src/engine/control-tables/stream-session.ts';
import { streamShape } from '../../../src/engine/database/table-shape.ts';
import { createComparison } from '../../../src/engine/loading/compare.ts';
import { resourcesStream } from '../../../src/engine/streams/resources.ts';

/** A comparison with a warehouse in which every record is unchanged, and the statements that it sent. */
function compareWith(rows: readonly object[]) {
  const sent: string[] = [];
  const connection = {
    query: (statement: string, [, keys = '{}']: readonly string[]) => {
      const isLookForRows = statement.startsWith('select from');
      sent.push(isLookForRows ? 'rows?' : keys);
      return Promise.resolve(isLookForRows ? rows : [{ digits: '0'.repeat(keys.split(',').length) }]);
    },
  } as unknown as StreamSession['connection'];
  const comparison = createComparison({ connection }, streamShape(resourcesStream), 'a');
  const compare = (...keys: string[]) => comparison.byChecksum(keys.map((key) => ({ key, hash: '' })));
  return { compare, sent };
}

test('a first load queries for rows once, and compares added keys in memory', async () => {
  const { compare, sent } = compareWith([]);
  const atOneTime = await Promise.all([compare('k1', 'k2'), compare('k3')]);
  expect(atOneTime).toEqual([['added', 'added'], ['added']]);
  expect(sent).toEqual(['rows?']);
});

test('a first load compares in the database from the first repeated key on', async () => {
  const { compare, sent } = compareWith([]);
  await Promise.all([compare('k1'), compare('k2')]);
  expect(await compare('k2', 'k3')).toEqual(['unchanged', 'unchanged']);
  expect(await compare('k4')).toEqual(['unchanged']);
  expect(sent).toEqual(['rows?', '{"k2","k3"}', '{"k4"}']);
});

test('a first load compares in the database if it has too many keys for the memory', async () => {
  const { compare, sent } = compareWith([]);
  const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}`);
  await compare(...keys);
  await compare('one more');
  expect(sent).toEqual(['rows?', '{"one more"}']);
});

test('an account with rows is compared in the database', async () => {
  const { compare, sent } = compareWith([{}]);
  expect(await compare('k1')).toEqual(['unchanged']);
  expect(sent).toEqual(['rows?', '{"k1"}']);
});
