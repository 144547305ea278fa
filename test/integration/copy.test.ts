/** COPY: a refusal by PostgreSQL is noticed at any moment, and the connection goes on. */
import { sql } from 'drizzle-orm';
import { beforeEach, expect, test } from 'vitest';
import { forEachTest } from '../support/lifetime.ts';
import { openTestDatabase } from '../support/test-database.ts';

const MANY = 200_000;

const session = forEachTest(() => openTestDatabase({ isSession: true }));
beforeEach(async () => {
  await session.query('create temporary table numbers (a int primary key)');
});

const copy = (lines: string) => session.copy('copy numbers from stdin', [lines]);
const count = async () => {
  const [row] = await session.query<{ count: number }>('select count(*)::int as count from numbers');
  return row?.count;
};
const NUMBERS = Array.from({ length: MANY }, (_, number) => `${number}\n`).join('');

test.each([
  ['an unreadable first line of many', `one\n${NUMBERS}`, /invalid input syntax/],
  ['a duplicate key', '1\n1\n', /duplicate key/],
  ['a duplicate key in the last line of many', `${NUMBERS}7\n`, /duplicate key/],
])('%s is an error: nothing of the COPY is stored, and the next COPY works', async (_, lines, problem) => {
  await expect(copy(lines)).rejects.toThrow(problem);
  await session.query('begin');
  await expect(copy(lines)).rejects.toThrow(problem);
  await session.query('rollback');
  expect(await count()).toBe(0);
  await copy('1\n2\n');
  await session.query('begin');
  await copy('3\n');
  await session.db.execute(sql`select 1`);
  await copy('4\n');
  await session.query('commit');
  expect(await count()).toBe(4);
});

test('statements that are sent during a COPY wait for its end', async () => {
  const copying = copy(NUMBERS);
  const asked: Promise<unknown>[] = [];
  for (let turn = 0; turn < 200; turn += 1) {
    const isOfDrizzle = turn % 2 === 1;
    // `then` sends a statement of drizzle.
    const drizzled = async () => await session.db.execute(sql`select 1 as one`);
    asked.push(isOfDrizzle ? drizzled() : session.query('select 1 as one'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const second = copy(`${MANY}\n`);
  // Queries before the second COPY get their results before it.
  const order: string[] = [];
  void asked.at(-2)?.then(() => order.push('asked'));
  void second.then(() => order.push('second'));
  await copying;
  await second;
  expect(order).toEqual(['asked', 'second']);
  const answers = await Promise.all(asked);
  expect(answers.filter((answer) => JSON.stringify(answer) !== '[{"one":1}]')).toEqual([]);
  expect(await count()).toBe(MANY + 1);
});
