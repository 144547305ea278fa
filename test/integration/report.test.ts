/** The page of the report against the warehouse. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { firstListsOf } from '../../src/pages/report/first-screen.ts';
import { renderReport } from '../../src/pages/report/render-report.ts';
import { readReport, type Report } from '../../src/pages/report/read-report.ts';
import { parseArea } from '../../src/pages/report/area.ts';
import { HOUR_MS } from '../../src/shared/time.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { countStored } from '../support/count-days.ts';
import { GIVEN_PAST } from '../support/given-past.ts';
import { forAllTests, untilTestEnds } from '../support/lifetime.ts';
import { addTo } from '../support/story.ts';
import {
  createSyncedWorker,
  createTestWorker,
  expectSucceeded,
  syncSecondAccount,
} from '../support/world.ts';

const EVIL = `\u202e\u001b[2J\u2066</text></title></script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'\``;
const URLS = {
  followup: 'https://service.example.com/f/{form_id}/{id}',
  equipment: 'https://service.example.com/e/{id}',
  employee: 'https://service.example.com/p/{id}',
};
const TODAY = `(now() at time zone 'UTC')::date`;

const worker = forAllTests(() =>
  createSyncedWorker({
    ...{ seed: 5, size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 } },
  }),
);
/** The report and its page before any of these tests changes the warehouse. */
let report: Report;
let page: string;
beforeAll(async () => {
  for (const statement of GIVEN_PAST) await worker.query(statement);
  await countStored(worker.connection);
  // Regions above the field offices, which have their names from the service.
  const region = (id: string, label: string) => ({ kind: 'field_office', id, label });
  const within = (parent_id: string, ...ids: readonly string[]) =>
    ids.map((id) => ({ kind: 'field_office', id, parent_id }));
  await addTo(worker.connection)(
    'safety.labels',
    ...[region('europe', 'Europe'), ...within('europe', '410', '411', '412')],
    ...[region('americas', 'Americas'), ...within('americas', '413', '414')],
  );
  report = await read();
  page = renderReport(report, { title: null });
});

function read(name?: string, recordUrls = {}, { connection } = worker): Promise<Report> {
  const asked = { accountId: 'default', area: name === undefined ? null : parseArea(name), recordUrls };
  return readReport(connection, asked, ({ report: made }) => Promise.resolve(made));
}

/** The visible text of a page. */
const textOf = (html: string): string =>
  html
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
const textWith = (facts: Partial<Report>): string =>
  textOf(renderReport({ ...report, ...facts }, { title: null }));
/** Changes the warehouse until the end of the test. */
async function changing(change: string, back: string): Promise<void> {
  onTestFinished(async () => {
    await worker.query(back);
  });
  await worker.query(change);
}

test('the key figures equal counts of the tables, and people who have left are not counted among the trained', async () => {
  const [one] = await worker.query<{ user_id: string }>(
    `select user_id from safety.training_employee_status where status = 'active' order by user_id limit 1`,
  );
  const id = `id = '${one?.user_id ?? ''}'`;
  await changing(
    `update safety.users set terminated_on = ${TODAY} - 1 where ${id}`,
    `update safety.users set terminated_on = null where ${id}`,
  );
  await changing(
    `with s as (
       insert into safety.followup_states (account_id, id, is_open, valid_from, valid_to)
       select account_id, id, false, _valid_from, now() from safety.followups
       where is_open and _deleted_at is null and _valid_from < now() order by id limit 2 returning *)
     update safety.followups f set _valid_from = s.valid_to from s where f.account_id = s.account_id and f.id = s.id`,
    `with s as (delete from safety.followup_states where valid_to > now() - interval '1 day' and is_open is false returning *)
     update safety.followups f set _valid_from = s.valid_from from s where f.account_id = s.account_id and f.id = s.id`,
  );
  const [counted] = await worker.query<Record<string, number>>(`select
    (select count(*) from safety.followups where is_open and _deleted_at is null)::int as open,
    (select count(*) from safety.followups where is_open and due_on < ${TODAY} and _deleted_at is null)::int as overdue,
    (select count(*) from safety.training_employee_status s join safety.people p using (account_id, user_id)
     where s.status in ('active', 'expiring') and p.is_active is not false and s._deleted_at is null)::int as compliant,
    (select count(*) from safety.training_employee_status s join safety.people p using (account_id, user_id)
     where s.status <> 'unassigned' and p.is_active is not false and s._deleted_at is null)::int as needing_training,
    (select count(*) from safety.equipment where is_in_service and status = 'expired' and _deleted_at is null)::int as expired_equipment,
    (select count(*) from safety.equipment where is_in_service and _deleted_at is null)::int as in_service,
    (select count(*) from safety.followup_overview where closed_in_time is not null and resolved_on > ${TODAY} - 30)::int as closed_with_due_day,
    (select count(distinct e.followup_id) from safety.followup_events e join safety.followup_overview o on o.id = e.followup_id and o.is_open
     where e.event = 'reopened' and e.occurred_on > ${TODAY} - 7)::int as reopened,
    (select count(*) from safety.due_followups where done_in_time is not null and due_on > ${TODAY} - 30)::int as fell_due`);
  const { figures } = await read();
  expect(figures).toMatchObject(counted ?? {});
  expect(figures.reopened).toBeGreaterThan(0);
  expect(figures.leavers_in_training).toBeGreaterThan(0);
  expect(figures.needing_training).toBe(report.figures.needing_training - 1);
});

test('the first screen names expired inspections of equipment in service, longest first, with office, responsible person and a link', async () => {
  const [expired] = await worker.query<Record<string, string>>(
    `select i.equipment_id as id, i.title, i.serial_number as serial, i.schedule_label as inspection, e.field_offices as office,
       e.responsible_name as person
     from safety.equipment_inspections i join safety.equipment_overview e on e.id = i.equipment_id
     where i.is_in_service and i.status = 'expired' and i.days_until_expiry <= 0
     order by i.days_until_expiry, i.equipment_id, i.schedule_id limit 1`,
  );
  const [stop] = firstListsOf(await read(undefined, URLS));
  const [first] = stop?.lines ?? [];
  expect(stop?.title).toBe('Stop or replace today');
  expect(first?.url).toBe(`https://service.example.com/e/${expired?.['id'] ?? ''}`);
  expect(first?.shown).toBe(`${expired?.['title'] ?? ''} ${expired?.['serial'] ?? ''}`);
  for (const part of [
    expired?.['inspection'],
    expired?.['office'],
    expired?.['person'] ?? 'nobody is responsible',
  ])
    expect(first?.texts.join(' ')).toContain(part);
  expect(stop?.lines.length).toBe(5);
  expect(stop?.rest).toBe(`and ${report.figures.expired_inspections - 5} more expired inspections`);
});

test('whom to call first: those with the most to do now; the follow-ups of people who have left are said apart', async () => {
  const [, before] = firstListsOf(report);
  const [top] = report.lists.people.rows;
  expect(before?.lines[0]?.shown).toBe(top?.['user_name']);
  const id = `id = '${String(top?.['user_id'])}'`;
  await changing(
    `update safety.users set terminated_on = ${TODAY} - 1 where ${id}`,
    `update safety.users set terminated_on = null where ${id}`,
  );
  const left = await read(undefined, URLS);
  const [, call] = firstListsOf(left);
  expect(call?.lines[0]?.shown).toBe(before?.lines[1]?.shown);
  expect(call?.lines[0]?.url).toMatch(/^https:\/\/service\.example\.com\/p\/./);
  expect(left.figures.with_leavers).toBe(report.figures.with_leavers + Number(top?.['open_followups'] ?? 0));
  const apart = left.lists.areas.rows.find((row) => row['area_kind'] === 'left');
  expect(apart).toMatchObject({ area: 'People who have left', open_followups: left.figures.with_leavers });
});

describe('areas', () => {
  const shop = 'Houston – Pasadena shop';

  test('each area stands beside the others as counted from the views', async () => {
    const rows = report.lists.areas.rows;
    expect(rows.map((row) => row['area_kind'])).toEqual(
      expect.arrayContaining([
        'client',
        'field_office',
        'field_office_group',
        'line_of_business',
        'supervisor',
      ]),
    );
    const [expected] = await worker.query(`with who as (
        select distinct o.user_id from safety.people_field_offices o join safety.people p using (account_id, user_id)
        where o.label = '${shop}' and p.is_active is not false)
      select (select count(*) from who)::int as people,
        (select count(*) from safety.training_compliance c join who using (user_id) where c.is_compliant)::int as compliant,
        (select count(*) from safety.training_compliance c join who using (user_id) where c.is_compliant is not null)::int as needing_training,
        (select count(*) from safety.followup_overview f join who on who.user_id = coalesce(nullif(f.assignee_id, ''), f.assigner_id)
         where f.is_overdue)::int as overdue_followups,
        (select count(*) from safety.equipment_field_offices o join safety.equipment e on e.id = o.equipment_id
         where o.field_office_label = '${shop}' and e.is_in_service and e.status = 'expired')::int as expired_equipment`);
    expect(rows.find((row) => row['area_kind'] === 'field_office' && row['area'] === shop)).toMatchObject(
      expected ?? {},
    );
  });

  test('the report of an area has its people, their follow-ups and its equipment alone', async () => {
    const whole = report.lists.areas.rows.find((row) => row['area'] === shop);
    const only = await read(`field_office=${shop}`);
    expect(only.figures).toMatchObject({
      overdue: whole?.['overdue_followups'],
      compliant: whole?.['compliant'],
      expired_equipment: whole?.['expired_equipment'],
    });
    expect(only.lists.documents.total).toBe(0);
    expect(only.figures.overdue).toBeLessThan(report.figures.overdue);
  });

  test('an area may be a group, a line of business, a company or a supervisor', async () => {
    for (const kind of ['field_office_group', 'line_of_business', 'client', 'supervisor']) {
      const isMeant = (row: Record<string, unknown>) =>
        row['area_kind'] === kind && Number(row['people']) > 0;
      const whole = report.lists.areas.rows.find(isMeant);
      const only = await read(`${kind.replace('_group', '')}=${String(whole?.['area'])}`);
      const same = only.lists.areas.rows.find((row) => isMeant(row) && row['area'] === whole?.['area']);
      expect(same?.['people'], kind).toBe(whole?.['people']);
      expect(only.lists.people.total).toBeLessThan(report.lists.people.total);
    }
  });
});

test('the page says how old the oldest part is, and whose newest attempt failed', () => {
  const withPart = (stream: string, change: Partial<Report['parts'][number]>) => ({
    parts: report.parts.map((one) => (one.stream === stream ? { ...one, ...change } : one)),
  });

  expect(textWith({})).toMatch(/All data was read within the last \w/);
  const old = textWith(withPart('followups', { read_ms: report.asOfMs - 30 * HOUR_MS }));
  expect(old).toContain('The oldest part, follow-ups, was read 1 d 6 h before this report.');
  expect(textWith(withPart('equipments', { has_failed: true }))).toContain(
    'The newest attempt to read equipment failed: what it shows is from before.',
  );
});

test('days and times are in the time zone of the account', async () => {
  const move = (timezone: string) =>
    writeViewSettings(worker.connection.db, [{ accountId: 'default', timezone }]);
  await move('Pacific/Kiritimati');
  onTestFinished(async () => {
    await move('UTC');
  });
  const { timezone, today } = await read();
  const asOfMs = Date.UTC(2026, 2, 1, 23, 30);
  expect(textWith({ asOfMs, timezone })).toContain('as of 2 Mar 2026, 13:30 (Pacific/Kiritimati).');
  const [row] = await worker.query<{ today: string }>(
    `select (now() at time zone 'Pacific/Kiritimati')::date::text as today`,
  );
  expect(today).toBe(row?.today);
});

test('the page has charts with a text for screen readers, tables with a caption, and loads nothing', () => {
  const charts = [...page.matchAll(/<svg [^>]*>/g)].map(([tag]) => tag);
  expect(charts).toHaveLength(3);
  for (const tag of charts) expect(tag).toMatch(/role="img" aria-label="[^"]{10,}"/);
  expect(page.match(/<table/g)?.length).toBe(page.match(/<caption>/g)?.length);
  expect(page.match(/<script|<link|<img|<iframe|\bsrc=|\bon[a-z]+=|url\(|@import/gi)).toBeNull();
  expect([...page.matchAll(/\bhref="([^"]*)"/g)].every(([, target]) => target?.startsWith('#'))).toBe(true);
  expect(page).toContain(`default-src 'none'; style-src 'unsafe-inline'`);
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
});

test('a report has nothing of another account', async () => {
  await syncSecondAccount(worker);
  const again = await read();
  expect(again.figures).toEqual(report.figures);
  expect(Object.values(again.lists).map(({ total }) => total)).toEqual(
    Object.values(report.lists).map(({ total }) => total),
  );
});

test('markup and control characters in data are shown as text', async () => {
  const quoted = EVIL.replaceAll("'", "''");
  for (const statement of [
    `update safety.users set name = '${quoted}'`,
    `update safety.resources set title = '${quoted}'`,
    `update safety.equipment set title = '${quoted}', serial_number = '${quoted}', equipment_type_id = '${quoted}'`,
    `update safety.labels set label = '${quoted}' || id`,
    `update safety.equipment_schedules set schedule_id = schedule_id || '${quoted}'`,
  ])
    await worker.query(statement);
  const html = renderReport(await read(), { title: null });
  expect(html).toContain('&lt;script&gt;document.title');
  expect(html).not.toMatch(/<script|<img/i);
  expect(html).toContain('\ufffd\ufffd[2J\ufffd&lt;/text&gt;');
  expect(html.match(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu)).toBeNull();
});

test('the report of an empty warehouse says that nothing was read, and how to go on; one of a single stream, what is missing', async () => {
  const empty = untilTestEnds(await createTestWorker());
  const said = async () => textOf(renderReport(await read(undefined, {}, empty), { title: null }));
  const nothing = await said();
  expect(nothing).toContain('Nothing was read from the service yet, so there is nothing to report.');
  expect(nothing).toContain('Next step: safety-sync sync');
  expect(nothing).not.toMatch(/Overdue follow-ups|NaN|undefined/);
  expectSucceeded(await empty.run('followups'));
  const one = await said();
  expect(one).toContain('Not completely read yet: ');
  expect(one).not.toMatch(/nothing to report|Fully trained people|NaN|undefined|Infinity/);
});
