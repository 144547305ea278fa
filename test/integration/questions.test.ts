/** The questions of docs/questions.md, as printed there, by the role that BI has. */
import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeReportingTimezones } from '../../src/warehouse/view-settings.ts';
import { sandboxLabels } from '../support/sandbox-labels.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { countStored } from '../support/count-days.ts';
import { EXPECTED_ANSWERS, STORY, TODAY } from '../support/expected-answers.ts';
import { sumMessages } from '../support/sum-messages.ts';
import { holdGenerated, isWriting } from '../support/generated.ts';
import { forAllTests } from '../support/lifetime.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker } from '../support/worker.ts';

const FILE = new URL('../../docs/questions.md', import.meta.url);
const SHOWN_ROWS = 5;
/** A heading, its explanation, its SQL, and the table below it. */
const QUESTION =
  /^### \d+\. (.*)\n\n(?:\w[^\n]*\n(?:[^\n]+\n)*\n)?```sql\n([^`]*)```\n(?:\n(\|[^#]*?)\n(?=\n|$))?/gm;

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

const worker = forAllTests(() =>
  createTestWorker({
    sandbox: { seed: 5, size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 } },
  }),
);
beforeAll(async () => {
  for (let round = 0; round < 3; round += 1) {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    worker.sandbox.live.step(150);
    worker.sandbox.store.recalculateTraining(Date.now() + MINUTE_MS);
  }
  await storeLabels();
  // Somebody with an open follow-up has left.
  await worker.query(`update safety.users set terminated_on = current_date - 1
    where id = (select min(assignee_id) from safety.followups where is_open)`);
  // Closed follow-ups with a moved due day: the live source moves the day of open ones only.
  await worker.query(`insert into safety.followup_states (account_id, id, form_id, is_open, created_at, updated_at, assignee_id,
      due_on, resolved_at, completer_id, valid_from, valid_to)
    select account_id, id, form_id, is_open, created_at, updated_at, assignee_id,
      due_on + case when right(id, 2) < '30' then 40 else -40 end, resolved_at, completer_id,
      ((_valid_from at time zone 'UTC') - interval '1 hour') at time zone 'UTC', _valid_from
    from safety.followups f where not is_open and due_on is not null and id like '%7' and not exists (
      select from safety.followup_states s where s.account_id = f.account_id and s.id = f.id)`);
  await sumMessages(worker.connection);
  // As an operator does after a sync.
  await writeReportingTimezones(worker.connection.db, [{ accountId: 'default', timezone: 'UTC' }]);
  // Some months ago most employees without later changes had completed no training, or only trainings that they have repeated since.
  await worker.query(`insert into safety.training_completion_states
      (account_id, user_id, training_id, completed_on, starts_expiring_on, expires_on, is_required, valid_from, valid_to)
    select account_id, user_id, training_id, completed_on - days, starts_expiring_on - days, expires_on - days, is_required,
      ((_valid_from at time zone 'UTC') - interval '100 days') at time zone 'UTC', _valid_from
    from (select t.*, (array[300, 365, 400, -20])[1 + (training_id + right(user_id, 2)::int) % 4] as days
      from safety.training_completions t where user_id like '%2' or training_id % 2 = 0) t
    where not exists (select from safety.training_completion_states s
      where s.account_id = t.account_id and s.user_id = t.user_id and s.training_id = t.training_id)`);
  await worker.query(`insert into safety.training_employee_status_states
      (account_id, user_id, status, complete_training_ids, incomplete_training_ids, valid_from, valid_to)
    select account_id, user_id, 'incomplete', case when user_id like '%2' then complete_training_ids end,
      case when user_id like '%2' then incomplete_training_ids else complete_training_ids || incomplete_training_ids end,
      ((_valid_from at time zone 'UTC') - interval '100 days') at time zone 'UTC',
      ((_valid_from at time zone 'UTC') - interval '30 days') at time zone 'UTC'
    from safety.training_employee_status t where not exists (
      select from safety.training_employee_status_states s where s.account_id = t.account_id and s.user_id = t.user_id)`);
});

/** The sandbox's own, and a risk for each form but one: what question 39 is about. */
async function storeLabels(): Promise<void> {
  const forms = sandboxLabels().filter(({ kind }) => kind === 'form');
  const risks = ['risk-high', 'risk-low'];
  const labels = [
    ...sandboxLabels().map((one) => {
      const at = one.kind === 'form' ? forms.findIndex(({ id }) => id === one.id) : 0;
      return at === 0 ? one : { ...one, parentId: risks[at % 2] ?? null };
    }),
    { kind: 'form', id: 'risk-high', label: 'High risk', parentId: null },
    { kind: 'form', id: 'risk-low', label: 'Low risk', parentId: null },
  ];
  await worker.connection.query(
    `insert into safety.labels (account_id, kind, id, label, parent_id)
     select 'default', kind, id, label, "parentId" from json_to_recordset($1::text::json)
       as l (kind text, id text, label text, "parentId" text)`,
    [JSON.stringify(labels)],
  );
}

afterAll(async () => {
  if (!isWriting) return;
  const written = text.replace(QUESTION, (all, title: string, sql: string) => {
    const heading = all.slice(0, all.indexOf('```sql'));
    return `${heading}\`\`\`sql\n${sql}\`\`\`\n\n${answers.get(title) ?? ''}\n`;
  });
  await holdGenerated({ 'docs/questions.md': written });
});

test('docs/questions.md contains fifty questions', () => {
  expect(questions).toHaveLength(50);
});

test('every question of docs/questions.md runs in a warehouse without rows', async () => {
  const empty = await openTestDatabase();
  for (const [title, text] of questions)
    await expect(empty.query(text), title).resolves.toBeInstanceOf(Array);
});

test.each(questions)('question “%s” returns rows with the documented columns', async (title, sql, answer) => {
  const rows = await worker.connection.db.transaction(async (tx) => {
    await tx.execute('set local role safety_reader');
    return await tx.execute<Row>(sql);
  });
  expect(rows.length).toBeGreaterThan(0);
  // An answer with the same columns stays, because answers depend on the day on which they are made.
  const columns = Object.keys(rows[0] ?? {});
  const isKept = columnsOf(answer).join() === columns.join();
  answers.set(title, isKept ? answer.trimEnd() : renderAnswer(rows));
  if (isWriting) return;
  expect(columnsOf(answer), 'run npm run docs:generate').toEqual(columns);
});

test('the weeks of the question about completed trainings begin at midnight of the account, in any time zone of the session', async () => {
  const monday = `date_trunc('week', now() at time zone 'America/New_York')`;
  const [, question = ''] = questions.find(([title]) => title.startsWith('How did the share that')) ?? [];
  const found: Row[] = [];
  const asked = worker.connection.db.transaction(async (tx) => {
    await tx.execute(sql`update safety.reporting_settings set timezone = 'America/New_York'`);
    await tx.execute(
      sql.raw(`insert into safety.training_employee_status
          (account_id, user_id, complete_training_ids, incomplete_training_ids, _valid_from, _run_id)
        values ('default', 'before', '{990}', '{}', ${monday} at time zone 'America/New_York', 1),
          ('default', 'after', '{}', '{991}', (${monday} + interval '1 second') at time zone 'America/New_York', 1)`),
    );
    await tx.execute(sql`set local timezone = 'Asia/Tokyo'`);
    found.push(
      ...(await tx.execute<Row>(question)),
      ...(await tx.execute<Row>(sql.raw(`select (${monday})::date as now`))),
    );
    tx.rollback();
  });
  await expect(asked).rejects.toThrow();
  const now = found.pop()?.['now'];
  expect(found.filter(({ training }) => training === '990' || training === '991')).toEqual([
    { monday: now, training: '990', assigned: '1', percent_complete: '100.0' },
  ]);
});

describe('answers for the Monday meeting from a small history', () => {
  const connection = forAllTests(() => openTestDatabase());
  beforeAll(async () => {
    await connection.query(`do $$ begin ${STORY.join('; ')}; end $$`);
    await sumMessages(connection);
    await writeReportingTimezones(connection.db, [{ accountId: 'default', timezone: 'UTC' }]);
    await countStored(connection);
  });

  test.each(Object.entries(EXPECTED_ANSWERS))(
    'question %s returns the expected rows from a small history',
    async (number, expected) => {
      const [title = '', asked = ''] = questions[Number(number) - 1] ?? [];
      const rows = await connection.query<Row>(asked);
      const found = rows.map((row) => Object.values(row).map(toText).join('|'));
      const isPast = (row: string) => number !== '46' || !row.startsWith(TODAY.slice(0, 7));
      expect(found.filter(isPast), title).toEqual(expected);
    },
  );

  test('question 49 for today returns the required rows of training_matrix', async () => {
    const [, ofADay = ''] = questions[48] ?? [];
    const today = await connection.query<Row>(ofADay.replace('z.today - 45', 'z.today'));
    const required = await connection.query<Row>(
      'select user_name, training_label, state, expires_on from safety.training_matrix where is_required',
    );
    const texts = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).toSorted();
    expect(today.length).toBeGreaterThan(0);
    expect(texts(today)).toEqual(texts(required));
  });
});
