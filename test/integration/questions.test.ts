/** The questions of docs/questions.md, asked as they stand there, by the role that BI has. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const FILE = new URL('../../docs/questions.md', import.meta.url);
const SHOWN_ROWS = 5;
/** A heading, its SQL, and the table that stands below. */
const QUESTION = /^### \d+\. (.*)\n\n```sql\n([^`]*)```\n(?:\n(\|[^#]*?)\n(?=\n|$))?/gm;

const text = readFileSync(FILE, 'utf8');
const questions = [...text.matchAll(QUESTION)].map(
  ([, title = '', sql = '', answer = '']) => [title, sql, answer] as const,
);

type Row = Readonly<Record<string, unknown>>;

function toText(value: unknown): string {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The first rows as a table of Markdown. */
function renderAnswer(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [
    line(columns),
    line(columns.map(() => '---')),
    ...rows.slice(0, SHOWN_ROWS).map((row) => line(columns.map((column) => toText(row[column])))),
  ];
  return table.join('\n');
}

const columnsOf = (table: string): string[] =>
  (table.split('\n')[0] ?? '').split('|').flatMap((cell) => (cell.trim() === '' ? [] : [cell.trim()]));

const answers = new Map<string, string>();

let worker: TestWorker;
beforeAll(async () => {
  worker = await createTestWorker({
    sandbox: { seed: 5, size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 } },
  });
  for (let round = 0; round < 2; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(100);
    worker.sandbox.store.recalculateTraining(Date.now() + MINUTE_MS);
  }
});
afterAll(async () => {
  await worker.close();
  if (process.env['WRITE_DOCS'] !== '1') return;
  const written = text.replace(QUESTION, (all, title: string, sql: string) => {
    const heading = all.slice(0, all.indexOf('```sql'));
    return `${heading}\`\`\`sql\n${sql}\`\`\`\n\n${answers.get(title) ?? ''}\n`;
  });
  writeFileSync(FILE, written);
});

test('there are thirty', () => {
  expect(questions).toHaveLength(30);
});

test.each(questions)('%s', async (title, sql, answer) => {
  const rows = await worker.connection.db.transaction(async (tx) => {
    await tx.execute('set local role safety_reader');
    return await tx.execute<Row>(sql);
  });
  expect(rows.length).toBeGreaterThan(0);
  answers.set(title, renderAnswer(rows));
  if (process.env['WRITE_DOCS'] === '1') return;
  expect(columnsOf(answer), 'run npm run docs:generate').toEqual(Object.keys(rows[0] ?? {}));
});
