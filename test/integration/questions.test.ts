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

test('there are thirty-one', () => {
  expect(questions).toHaveLength(31);
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

/** The answer to the question with this number's title. */
async function answerTo(titleStart: string): Promise<readonly Row[]> {
  const [, sql = ''] = questions.find(([title]) => title.startsWith(titleStart)) ?? [];
  return await worker.query<Row>(sql);
}

test('what was open a month ago counts what has been closed since, also where nobody was syncing yet', async () => {
  const [found] = await answerTo('How many were open a month ago');
  const [expected] = await worker.query<Row>(
    `select count(*) as were_open, count(*) filter (where resolved_at is not null) as closed_since from safety.followups f
     where created_at < (now() at time zone 'UTC')::date - 29
       and (is_open or resolved_at >= (now() at time zone 'UTC')::date - 29)
       -- Reopened between the two syncs: it was closed then.
       and not exists (select from safety.followup_states s where s.account_id = f.account_id and s.id = f.id and not s.is_open
         and s.resolved_at < (now() at time zone 'UTC')::date - 29)`,
  );
  expect(Number(expected?.['closed_since'])).toBeGreaterThan(0);
  expect(Number(found?.['were_open'])).toBe(Number(expected?.['were_open']));
});

test('a schedule of which only a date moved has not changed its status', async () => {
  const states = await worker.query<{ key: string; status: string | null }>(
    `select equipment_id || ' ' || schedule_id as key, status from safety.equipment_schedule_history order by 1, valid_from`,
  );
  const changes = new Map<string, number>();
  states.forEach(({ key, status }, index) => {
    const previous = states[index - 1];
    if (previous?.key !== key || previous.status === status) return;
    changes.set(key, (changes.get(key) ?? 0) + 1);
  });
  const successions = states.length - new Set(states.map(({ key }) => key)).size;
  const changed = [...changes.values()].reduce((sum, one) => sum + one, 0);
  expect(successions).toBeGreaterThan(changed);
  const found = await answerTo('How often did each schedule change');
  const most = [...changes].map(([key, count]) => `${key} ${count}`);
  expect(found.length).toBe(Math.min(20, changes.size));
  for (const row of found) {
    expect(most).toContain(
      `${String(row['equipment_id'])} ${String(row['schedule_id'])} ${String(row['changes'])}`,
    );
  }
});

test('nobody is asked about expired equipment that is out of service', async () => {
  await worker.query(
    `update safety.equipment set is_in_service = false where id = (
       select min(e.id) from safety.equipment e join safety.equipment_assigned_users a on a.equipment_id = e.id where e.status = 'expired')`,
  );
  const [expected] = await worker.query<Row>(
    `select count(*) filter (where is_in_service) as in_service, count(*) as all_of_them
     from safety.equipment_assigned_users a join safety.equipment e on e.id = a.equipment_id where e.status = 'expired'`,
  );
  const asked = (await answerTo('Who is responsible for expired')).reduce(
    (sum, row) => sum + Number(row['expired']),
    0,
  );
  expect(asked).toBe(Number(expected?.['in_service']));
  expect(asked).toBeLessThan(Number(expected?.['all_of_them']));
});

test('each task of a follow-up is told once, whatever else changed meanwhile', async () => {
  const followups = await answerTo('Whose task was each follow-up');
  const same = followups.filter((row, index) => {
    const previous = followups[index - 1];
    return previous?.['id'] === row['id'] && previous?.['assignee_id'] === row['assignee_id'];
  });
  expect(same).toEqual([]);
});
