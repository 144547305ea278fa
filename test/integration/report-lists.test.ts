/** The lists to take along against the report that counts them, read by code of the test alone. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIST_NAMES, type ListName } from '../../src/pages/report/lists.ts';
import { readReport, type Report, type Snapshot } from '../../src/pages/report/read-report.ts';
import { renderReport } from '../../src/pages/report/render-report.ts';
import { writeCsv, writeWorkbook } from '../../src/pages/report/take-along.ts';
import type { RecordUrls } from '../../src/shared/record-urls.ts';
import { countStored } from '../support/count-days.ts';
import { GIVEN_PAST } from '../support/given-past.ts';
import { forAllTests } from '../support/lifetime.ts';
import { readWorkbook } from '../support/read-workbook.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker } from '../support/worker.ts';

const URLS: RecordUrls = {
  followup: 'https://service.example.com/followups/{id}',
  employee: 'https://service.example.com/people?id={id}&tab=1',
  equipment: 'https://service.example.com/equipment/{id}/',
};

const worker = forAllTests(() =>
  createTestWorker({
    sandbox: {
      seed: 5,
      size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 },
    },
  }),
);
let parent: string;
/** Of the CSV files. */
let folder: string;
let report: Report;
let listed: Record<string, number>;
/** The number of rows of each list according to the report. */
let counts: Record<ListName, number>;
beforeAll(async () => {
  for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
  for (const statement of GIVEN_PAST) await worker.query(statement);
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
});
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'safety-sync-lists-'));
  folder = join(parent, 'csv');
  await mkdir(folder);
  await writeFile(join(folder, 'documents.csv'), 'as it was, longer than it will be\n'.repeat(10_000));
  await writeFile(join(folder, 'mine.txt'), 'mine');
  report = await take(URLS, async (snapshot) => {
    listed = await writeCsv(snapshot, folder);
    await writeWorkbook(snapshot, join(parent, 'lists.xlsx'));
  });
  counts = await countsOf(report);
});
afterAll(() => rm(parent, { recursive: true, force: true }));

const take = (recordUrls: RecordUrls, also: (snapshot: Snapshot) => Promise<void>): Promise<Report> =>
  readReport(worker.connection, 'default', { recordUrls, also });

async function countsOf({ answers }: Report): Promise<Record<ListName, number>> {
  const sum = <Row>(rows: readonly Row[], of: (row: Row) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  const followups = (...statuses: string[]) =>
    sum(
      answers.followupsNow.filter(({ status }) => statuses.includes(status)),
      (row) => row.followups,
    );
  // The page shows the first rows of these tables, and does not count the others.
  const [tables] = await worker.query<Record<string, number>>(`select
    (select count(distinct form_id) from safety.followup_overview)::int + 1 as forms,
    (select count(distinct training_id) from safety.training_matrix where is_required and state in ('missing', 'expired'))::int as trainings,
    (select count(*) from safety.training_matrix where is_required and state in ('missing', 'expired'))::int as lacking,
    (select count(distinct o.field_office_id) from safety.equipment_field_offices o join safety.equipment e on e.id = o.equipment_id
     where e.is_in_service and e._deleted_at is null)::int as offices`);
  const { forms = 0, trainings = 0, lacking = 0, offices = 0 } = tables ?? {};
  return {
    'overdue-followups': followups('overdue'),
    // The row of those that are not assigned.
    'overdue-by-person': answers.peopleWithOverdue[0].people + 1,
    'this-week': sum(answers.weekByPerson, (row) => row.followups + row.trainings + row.inspections),
    'open-followups': followups('open', 'overdue'),
    'closed-followups': answers.closedLately[0].closed,
    'followups-by-form': forms,
    employees: sum(answers.trainingNow, (row) => row.employees),
    'lacking-trainings': lacking,
    'lacking-by-training': trainings,
    'lapsing-trainings': answers.lapsing.find(({ days }) => days === 90)?.trainings ?? 0,
    'equipment-in-service': sum(answers.equipmentByType, (row) => row.equipment),
    'equipment-by-office': offices,
    'expired-inspections': answers.inspections[0].expired,
    documents: answers.documentsNow[0].documents,
  };
}

const readCsv = async (name: string, from = folder): Promise<Record<string, string>[]> =>
  parse(await readFile(join(from, `${name}.csv`), 'utf8'), { columns: true });

describe('CSV files', () => {
  test('each CSV file has as many rows as the report counts for its list', async () => {
    const found = await Promise.all(LIST_NAMES.map(async (name) => [name, (await readCsv(name)).length]));
    expect(Object.fromEntries(found)).toEqual(counts);
    expect(listed).toEqual(counts);
    expect(Object.values(counts).every((count) => count > 0)).toBe(true);
    expect(counts['overdue-followups']).toBeGreaterThan(2500);
  });

  test('CSV files replace older ones completely, are readable by their owner only, and other files in the folder stay', async () => {
    const names = [...LIST_NAMES.map((name) => `${name}.csv`), 'mine.txt'].toSorted();
    expect((await readdir(folder)).toSorted()).toEqual(names);
    for (const name of LIST_NAMES) {
      expect((await stat(join(folder, `${name}.csv`))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(folder, 'documents.csv'), 'utf8')).not.toContain('as it was');
  });

  test('no CSV cell begins like a formula, and texts keep their line breaks, commas and quotes', async () => {
    const rows = await readCsv('overdue-followups');
    expect(rows.find(({ id }) => id === 'past/1')?.['first_note']).toBe(
      `'=HYPERLINK("https://evil.example.com")`,
    );
    expect(rows.find(({ id }) => id === 'past/2')?.['first_note']).toBe('two\nlines, "quoted"');
    const employees = await readCsv('employees');
    expect(employees.some(({ user_name: name }) => name === "'@SUM(A1)")).toBe(true);
    for (const name of LIST_NAMES) {
      const cells = (await readCsv(name)).flatMap((row) => Object.values(row));
      expect(cells.filter((cell) => /^[=+@\t\r]|^-\D/.test(cell))).toEqual([]);
    }
  });

  test('a CSV row has a link to its record, with the id encoded for a URL', async () => {
    const [first] = await readCsv('overdue-followups');
    expect(first?.['link']).toBe('https://service.example.com/followups/past%2F1');
    const week = await readCsv('this-week');
    for (const { task, id = '', user_id: user = '', link } of week) {
      const expected = {
        'follow-up': `https://service.example.com/followups/${encodeURIComponent(id)}`,
        inspection: `https://service.example.com/equipment/${encodeURIComponent(id)}/`,
        training: `https://service.example.com/people?id=${encodeURIComponent(user)}&tab=1`,
      }[task ?? ''];
      expect(link).toBe(expected);
    }
    expect(new Set(week.map(({ task }) => task)).size).toBe(3);
    // Its kind has no template.
    expect((await readCsv('documents')).map(({ link }) => link).join('')).toBe('');
    expect(Object.keys((await readCsv('overdue-by-person'))[0] ?? {})).not.toContain('link');
  });

  test('CSV files have no link column if no URL template is set', async () => {
    const plain = join(parent, 'plain');
    await take({}, async (snapshot) => {
      await writeCsv(snapshot, plain);
    });
    expect(Object.keys((await readCsv('overdue-followups', plain))[0] ?? {})).not.toContain('link');
  });
});

test('the workbook has a sheet for each list, with as many rows as the report counts and the cells of the CSV file, with ids as texts', async () => {
  const path = join(parent, 'lists.xlsx');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const sheets = readWorkbook(await readFile(path));
  expect([...sheets.keys()]).toEqual(['about', ...LIST_NAMES]);
  for (const name of LIST_NAMES) {
    const [names, ...rows] = sheets.get(name) ?? [];
    expect([name, rows.length]).toEqual([name, counts[name]]);
    const columns = [...(names ?? [])].map(([letter, { text }]) => [letter, text] as const);
    const csv = await readCsv(name);
    expect(columns.map(([, column]) => column)).toEqual(Object.keys(csv[0] ?? {}));
    for (const [at, row] of rows.slice(0, 50).entries()) {
      for (const [letter, column] of columns) {
        const cell = row.get(letter);
        const inCsv = csv[at]?.[column] ?? '';
        if (column.endsWith('id')) expect(cell?.type ?? 'inlineStr', `${name}.${column}`).toBe('inlineStr');
        const isOther = cell?.type === 'b' || cell?.style === '2' || inCsv.startsWith("'");
        if (!isOther) expect([name, column, cell?.text ?? '']).toEqual([name, column, inCsv]);
      }
    }
  }
  const [, mostOverdue] = sheets.get('overdue-by-person') ?? [];
  expect([...(mostOverdue?.values() ?? [])].some(({ type, style }) => type === 'n' && style === '')).toBe(
    true,
  );
  const [, first] = sheets.get('overdue-followups') ?? [];
  expect([...(first?.values() ?? [])].at(-1)?.formula).toBe(
    'HYPERLINK("https://service.example.com/followups/past%2F1")',
  );
});

test('the report page links to records and names the file with the rows that it does not show', () => {
  const page = renderReport(report, { title: null, along: { csv: 'lists' } });
  expect(page).toContain(
    '<a href="https://service.example.com/followups/past%2F1" rel="noreferrer"><code>past/1</code></a>',
  );
  expect(page).toContain('<a href="https://service.example.com/people?id=o%2F1&amp;tab=1" rel="noreferrer">');
  expect(page).toContain('<code>lists/overdue-followups.csv</code>');
  expect(page).not.toContain('--xlsx FILE');
  const shown = page.matchAll(/and ([\d,]+) more([^<:]*):/g);
  const rests = [...shown].map(([, count]) => Number(count?.replace(',', '')));
  expect(rests).toContain(counts['overdue-followups'] - 10);
  const plain = renderReport({ ...report, recordUrls: {} }, { title: null });
  expect(plain).not.toContain('<a href="http');
});

test('a database error while the workbook is written is not reported as a file error, and no file is left', async () => {
  const db = { execute: () => Promise.reject(new Error('gone')) } as never;
  const broken = writeWorkbook({ report, db }, join(parent, 'broken.xlsx'));
  await expect(broken).rejects.toThrow('gone');
  expect((await readdir(parent)).filter((name) => name.includes('broken'))).toEqual([]);
});
