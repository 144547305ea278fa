/** The report's page against the warehouse that it tells of. */
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { renderReport } from '../../src/pages/report/render-report.ts';
import { QUESTIONS } from '../../src/pages/report/questions.ts';
import { readReport } from '../../src/pages/report/read-report.ts';
import { writeReportingTimezones } from '../../src/database/reporting.ts';
import { GIVEN_PAST } from '../support/given-past.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const EVIL = `</text></title></script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'\``;

async function pageOf(worker: TestWorker): Promise<string> {
  return await renderReport(await readReport(worker.connection, 'default'));
}

/** What a reader sees of a piece of the page. */
const textOf = (page: string): string =>
  page
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

test('where docs/questions.md asks the same, it asks in the same words', () => {
  const text = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
  const documented = new Map(
    [...text.matchAll(/^### \d+\. (.*)\n\n```sql\n([^`]*)\n```$/gm)].map(([, title = '', sql = '']) => [
      title,
      sql,
    ]),
  );
  const shared = Object.values(QUESTIONS).filter(({ title }) => documented.has(title));
  expect(shared.length).toBeGreaterThanOrEqual(8);
  for (const { title, sql } of shared) {
    const ofAllAccounts = sql
      .replace('account_id = $1 and ', '')
      .replace('where account_id = $1\n', '')
      .replaceAll('($1)', '(account_id)');
    expect(ofAllAccounts, title).toBe(documented.get(title));
  }
});

describe('of a warehouse with everything in it', () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await createTestWorker({
      sandbox: {
        seed: 5,
        size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 },
      },
    });
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    for (const statement of GIVEN_PAST) await worker.query(statement);
  });
  afterAll(() => worker.close());

  test('its figures are those of the tables', async () => {
    const [row] = await worker.query<Record<string, number>>(`select
      (select count(*) from safety.followups where is_open and _deleted_at is null)::int as open,
      (select count(*) from safety.followups where is_open and due_on < (now() at time zone 'UTC')::date and _deleted_at is null)::int as overdue,
      (select count(*) from safety.training_employee_status where status in ('active', 'expiring') and _deleted_at is null)::int as trained,
      (select count(*) from safety.training_employee_status where status <> 'unassigned' and _deleted_at is null)::int as needed,
      (select count(*) from safety.equipment where is_in_service and status = 'expired' and _deleted_at is null)::int as expired,
      (select count(*) from safety.equipment where is_in_service and _deleted_at is null)::int as in_service`);
    const { open = 0, overdue = 0, trained, needed, expired, in_service: inService } = row ?? {};
    const figures = textOf(/<dl class="figures">[^]*?<\/dl>/.exec(await pageOf(worker))?.[0] ?? '');
    expect(figures).toContain(`Open follow-ups ${open} ${open - overdue} of them not yet due`);
    expect(figures).toContain(`Overdue follow-ups ${overdue} the oldest since`);
    expect(figures).toContain(`${trained} of ${needed} who need training`);
    expect(figures).toContain(`Equipment out of date ${expired} of ${inService} in service`);
  });

  test('has every section with its charts and tables, each with a caption or a text that stands for it', async () => {
    const page = await pageOf(worker);
    const headings = [...page.matchAll(/<h2[^>]*>([^<]*)</g)].map(([, title]) => title);
    expect(headings).toEqual(['Follow-ups', 'Training', 'Equipment', 'Documents', 'About this data']);
    const charts = [...page.matchAll(/<svg [^>]*>/g)].map(([tag]) => tag);
    // Backlog, ages, time to close; status, trend, weeks; types, trend: each for wide and narrow screens.
    expect(charts).toHaveLength(16);
    for (const tag of charts) expect(tag).toMatch(/role="img" aria-label="[^"]{10,}"/);
    expect(page.match(/<table>/g)?.length).toBe(page.match(/<caption>/g)?.length);
    expect(page.match(/<table>/g)?.length).toBeGreaterThanOrEqual(9);
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.every((level, at) => level <= (levels[at - 1] ?? 0) + 1)).toBe(true);
    expect(textOf(page)).toContain('The newest version of 4 of 60 documents is not approved.');
  });

  test('loads nothing and runs nothing', async () => {
    const page = await pageOf(worker);
    expect(page.match(/<script|<link|<img|<iframe|\bsrc=|\bon[a-z]+=|url\(|@import/gi)).toBeNull();
    expect([...page.matchAll(/\bhref="([^"]*)"/g)].every(([, target]) => target?.startsWith('#'))).toBe(true);
    expect(page).toContain(`default-src 'none'; style-src 'unsafe-inline'`);
  });

  test('tells days and times as the account’s time zone has them', async () => {
    await writeReportingTimezones(worker.connection.db, [
      { accountId: 'default', timezone: 'Pacific/Kiritimati' },
    ]);
    try {
      const report = await readReport(worker.connection, 'default');
      const asOfMs = Date.UTC(2026, 2, 1, 23, 30);
      const page = textOf(await renderReport({ ...report, asOfMs, today: '2026-03-02' }));
      expect(page).toContain('as of 2 Mar 2026, 13:30. Days begin in the time zone Pacific/Kiritimati.');
      const [row] = await worker.query<{ today: string }>(
        `select (now() at time zone 'Pacific/Kiritimati')::date::text as today`,
      );
      expect(report.today).toBe(row?.today);
    } finally {
      await writeReportingTimezones(worker.connection.db, [{ accountId: 'default', timezone: 'UTC' }]);
    }
  });

  test('says what was not stored as it came, and which part is old', async () => {
    await worker.query(`insert into safety_sync.data_issues (account_id, stream, fingerprint, kind, problem, field)
      values ('default', 'followups', 'x', 'field_nulled', 'expected a date', 'due')`);
    const page = textOf(await pageOf(worker));
    expect(page).toContain('1 value of due in followups could not be stored and is empty: expected a date');
    expect(page).toMatch(/names of people \d+ \w+ 20\d\d, \d\d:\d\d just now|names of people .* ago/);
    await worker.query(`delete from safety_sync.data_issues where fingerprint = 'x'`);
  });

  test('what data says stays text', async () => {
    const quoted = EVIL.replaceAll("'", "''");
    for (const statement of [
      `update safety.users set name = '${quoted}'`,
      `update safety.resources set title = '${quoted}'`,
      `update safety.equipment set title = '${quoted}', serial_number = '${quoted}', equipment_type_id = '${quoted}'`,
      `update safety.equipment set status = '${quoted}' where id = (select min(id) from safety.equipment)`,
      `update safety.training_employee_status set status = '${quoted}' where user_id = (select min(user_id) from safety.training_employee_status)`,
      `update safety.equipment_schedules set schedule_id = schedule_id || '${quoted}'`,
    ])
      await worker.query(statement);
    const page = await pageOf(worker);
    expect(page).toContain('&lt;script&gt;document.title');
    expect(page).not.toMatch(/<script|<img/i);
    expect([...page.matchAll(/<[^>]*\bonerror\b/g)].filter(([tag]) => !tag.includes('aria-label="'))).toEqual(
      [],
    );
  });
});

describe('of a warehouse that lacks something', () => {
  let worker: TestWorker;
  afterEach(() => worker.close());

  test('an empty one says that nothing was read, and the next step', async () => {
    worker = await createTestWorker();
    const page = textOf(await pageOf(worker));
    expect(page).toContain(
      'Nothing was read from the service yet, so there is nothing to report. Next step: safety-sync sync ,',
    );
    expect(page).toContain('Equipment is read for the types named in SAFETY_EQUIPMENT_TYPES');
    expect(page).not.toContain('<svg');
    expect(page).not.toMatch(/NaN|undefined|Infinity|null/);
  });

  test.each([
    ['followups', 'training-employee-status'],
    ['training-employee-status', 'equipments'],
    ['equipments', 'resources'],
    ['resources', 'followups'],
  ] as const)('with %s alone it shows that, and how to get %s', async (stream, missing) => {
    worker = await createTestWorker();
    expectSucceeded(await worker.run(stream));
    const page = textOf(await pageOf(worker));
    expect(page).not.toContain('nothing to report');
    expect(page).toContain(`Next step: safety-sync sync ${missing} ,`);
    expect(page).not.toContain(`Next step: safety-sync sync ${stream} ,`);
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
  });

  test('a service that has none is told apart from one that was not asked', async () => {
    worker = await createTestWorker({
      sandbox: { size: { followups: 0, employees: 1, equipment: 1, resources: 1, users: 1 } },
    });
    for (const result of await worker.runAll()) expectSucceeded(result);
    const page = textOf(await pageOf(worker));
    expect(page).toContain('The service responded, and has none. There is nothing to show for follow-ups.');
    expect(page).toContain('The service tells only how it stands now.');
  });
});
