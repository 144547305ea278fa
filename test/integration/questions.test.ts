/** The questions of docs/questions.md, as printed there, by the role that BI has, and golden answers from a small past. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { countStored } from '../support/count-days.ts';
import { forAllTests } from '../support/lifetime.ts';
import { EXPECTED_ANSWERS, TODAY, tellStory } from '../support/story.ts';
import { sumMessages } from '../support/sum-messages.ts';
import { openTestDatabase } from '../support/test-database.ts';

/** A heading, its explanation, its SQL, and the table below it. */
const QUESTION =
  /^### \d+\. (.*)\n\n(?:\w[^\n]*\n(?:[^\n]+\n)*\n)?```sql\n([^`]*)```\n(?:\n(\|[^#]*?)\n(?=\n|$))?/gm;
const file = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
const questions = [...file.matchAll(QUESTION)].map(
  ([, title = '', asked = '', answer = '']) => [title, asked, answer] as const,
);

const connection = forAllTests(() => openTestDatabase());
beforeAll(async () => {
  await tellStory(connection);
  await sumMessages(connection);
  await writeViewSettings(connection.db, [{ accountId: 'default', timezone: 'UTC' }]);
  await countStored(connection);
});

test('docs/questions.md contains fifty questions', () => {
  expect(questions).toHaveLength(50);
});

test.each(questions)('question “%s” returns the documented columns', async (_title, asked, answer) => {
  const columns = await connection.db.transaction(async (tx) => {
    await tx.execute('set local role safety_reader');
    return (await tx.execute(asked)).columns.map(({ name }) => name);
  });
  expect((answer.split('\n')[0] ?? '').split('|').flatMap((cell) => cell.trim() || [])).toEqual(columns);
});

function toText(value: unknown): string {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

test.each(Object.entries(EXPECTED_ANSWERS))(
  'question %s returns the expected rows from a small history',
  async (number, expected) => {
    const [title = '', asked = ''] = questions[Number(number) - 1] ?? [];
    const rows = await connection.query<Record<string, unknown>>(asked);
    const found = rows.map((row) => Object.values(row).map(toText).join('|'));
    const isPast = (row: string) => number !== '46' || !row.startsWith(TODAY.slice(0, 7));
    expect(found.filter(isPast), title).toEqual(expected);
  },
);
