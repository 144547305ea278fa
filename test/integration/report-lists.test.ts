/** The lists to take along against the report that counts them, read by code of the test alone. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIST_NAMES, LISTS } from '../../src/pages/report/lists.ts';
import { makeReport } from '../../src/pages/report/make-report.ts';
import type { Report } from '../../src/pages/report/read-report.ts';
import type { RecordUrls } from '../../src/shared/record-urls.ts';
import { countStored } from '../support/count-days.ts';
import { forAllTests } from '../support/lifetime.ts';
import { readWorkbook } from '../support/read-workbook.ts';
import { createSyncedWorker } from '../support/world.ts';

const URLS: RecordUrls = {
  followup: 'https://service.example.com/followups/{id}',
  employee: 'https://service.example.com/people?id={id}&tab=1',
  equipment: 'https://service.example.com/equipment/{id}/',
};

const worker = forAllTests(() =>
  createSyncedWorker({
    ...{ seed: 5, size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 } },
  }),
);
let parent: string;
/** Of the CSV files. */
let folder: string;
let report: Report;
beforeAll(async () => {
  await countStored(worker.connection);
  // More rows than are read at once, one of them for a spreadsheet to run.
  await worker.query(`insert into safety.followups (account_id, id, is_open, assignee_id, due_on, created_at, _synced_at, _run_id)
    select 'default', 'past/' || n, true, case when n % 2 = 0 then 'o/1' end, '2020-01-01', '2019-12-01', now(), 1
    from generate_series(1, 2500) n`);
  await worker.query(`insert into safety.followup_messages (account_id, followup_id, id, position, note) values
    ('default', 'past/1', 'm1', 1, '=HYPERLINK("https://evil.example.com")'), ('default', 'past/2', 'm1', 1, E'two\\nlines, "quoted"')`);
  await worker.query(
    `update safety.users set name = '@SUM(A1)' where id = (select min(id) from safety.users)`,
  );
  await worker.query(`update safety.training_employee_status set percent_complete = 57.60000000000031
    where user_id = (select min(user_id) from safety.training_employee_status)`);
  parent = await mkdtemp(join(tmpdir(), 'safety-sync-lists-'));
  folder = join(parent, 'csv');
  const asked = { accountId: 'default', recordUrls: URLS, title: null, folder: parent };
  const files = { csv: folder, xlsx: join(parent, 'lists.xlsx') };
  ({ report } = await makeReport(worker.connection, { ...asked, ...files }));
});
afterAll(() => rm(parent, { recursive: true, force: true }));

const readCsv = async (name: string): Promise<Record<string, string>[]> =>
  parse(await readFile(join(folder, `${name}.csv`), 'utf8'), { columns: true });

describe('CSV files', () => {
  test('each CSV file has all rows of its list, with the names of columns, the account and numbers of two decimals', async () => {
    for (const name of LIST_NAMES) {
      const rows = await readCsv(name);
      expect([name, rows.length]).toEqual([name, report.lists[name].total]);
      expect(rows.length).toBeGreaterThan(0);
      const columns = [...report.lists[name].columns, 'account_id'];
      expect(Object.keys(rows[0] ?? {}).filter((column) => column !== 'link')).toEqual(columns);
      expect(new Set(rows.map((row) => row['account_id']))).toEqual(new Set(['default']));
      const cells = rows.flatMap((row) => Object.values(row));
      expect(cells.filter((cell) => /^\d+\.\d{3,}$/.test(cell))).toEqual([]);
    }
    expect(report.lists['overdue-followups'].total).toBeGreaterThan(2500);
    expect((await readCsv('people')).some((row) => row['percent_complete'] === '57.6')).toBe(true);
  });

  test('no CSV cell begins like a formula, and texts keep their line breaks, commas and quotes', async () => {
    const rows = await readCsv('overdue-followups');
    expect(rows.find(({ id }) => id === 'past/1')?.['first_note']).toBe(
      `'=HYPERLINK("https://evil.example.com")`,
    );
    expect(rows.find(({ id }) => id === 'past/2')?.['first_note']).toBe('two\nlines, "quoted"');
    expect((await readCsv('people')).some(({ user_name: name }) => name === "'@SUM(A1)")).toBe(true);
    for (const name of LIST_NAMES) {
      const cells = (await readCsv(name)).flatMap((row) => Object.values(row));
      expect(cells.filter((cell) => /^[=+@\t\r]|^-\D/.test(cell))).toEqual([]);
    }
  });

  test('a CSV row has a link to its record, with the id encoded for a URL; without templates there is no such column', async () => {
    const [first] = await readCsv('overdue-followups');
    expect(first?.['link']).toBe('https://service.example.com/followups/past%2F1');
    const week = await readCsv('due-next');
    const id = encodeURIComponent;
    for (const { task, followup_id = '', equipment_id = '', user_id = '', link } of week)
      expect(link).toBe(
        {
          'follow-up': `https://service.example.com/followups/${id(followup_id)}`,
          inspection: `https://service.example.com/equipment/${id(equipment_id)}/`,
          training: `https://service.example.com/people?id=${id(user_id)}&tab=1`,
        }[task ?? ''],
      );
    expect(new Set(week.map(({ task }) => task)).size).toBe(3);
    // An address may have the ids of the response and the form in it.
    for (const name of ['due-next', 'overdue-followups', 'open-followups', 'due-followups'])
      expect(Object.keys((await readCsv(name))[0] ?? {})).toEqual(
        expect.arrayContaining(['response_id', 'form_id']),
      );
    // Its kind has no template.
    expect(Object.keys((await readCsv('documents'))[0] ?? {})).not.toContain('link');
  });
});

test('the workbook has a sheet for each list in words, with all rows of the CSV file, and ids as texts', async () => {
  const path = join(parent, 'lists.xlsx');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const sheets = readWorkbook(await readFile(path));
  expect([...sheets.keys()]).toEqual(['About', ...LIST_NAMES.map((name) => LISTS[name].title)]);
  for (const name of LIST_NAMES) {
    const [titles = new Map(), ...rows] = sheets.get(LISTS[name].title) ?? [];
    const csv = await readCsv(name);
    const columns = Object.keys(csv[0] ?? {});
    expect([name, rows.length, titles.size]).toEqual([name, csv.length, columns.length]);
    for (const [place, letter] of [...titles.keys()].entries()) {
      if (columns[place]?.endsWith('id') !== true) continue;
      const ids = rows.map((row) => row.get(String(letter)));
      expect(ids.map((cell) => cell?.text ?? '')).toEqual(csv.map((row) => row[columns[place] ?? '']));
      expect(ids.every((cell) => (cell?.type ?? 'inlineStr') === 'inlineStr')).toBe(true);
    }
  }
  const [titles, first] = sheets.get('Overdue follow-ups') ?? [];
  const words = [...(titles?.values() ?? [])].map(({ text }) => text);
  expect(words.slice(0, 4)).toEqual(['Form', 'With', 'Due', 'Days overdue']);
  expect([...(first?.values() ?? [])].at(-1)?.formula).toBe(
    'HYPERLINK("https://service.example.com/followups/past%2F1")',
  );
});
