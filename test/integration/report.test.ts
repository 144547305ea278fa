/** The page of the report against the warehouse. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { renderReport } from '../../src/pages/report/render-report.ts';
import { QUESTIONS } from '../../src/pages/report/questions/questions.ts';
import { readReport, type Report } from '../../src/pages/report/read-report.ts';
import { formatCount } from '../../src/shared/format.ts';
import { importLabels } from '../../src/warehouse/import-labels.ts';
import { readLabelsFile, renderLabelsFile } from '../../src/warehouse/labels-file.ts';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { sandboxLabels } from '../support/sandbox-labels.ts';
import { writeReportingTimezones } from '../../src/warehouse/view-settings.ts';
import { countStored } from '../support/count-days.ts';
import { GIVEN_PAST } from '../support/given-past.ts';
import { forAllTests, untilTestEnds } from '../support/lifetime.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const EVIL = `\u202e\u001b[2J\u2066</text></title></script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'\``;

async function pageOf(worker: TestWorker): Promise<string> {
  return renderReport(await readReport(worker.connection, 'default'), { title: null });
}

/** The visible text of a part of the page. */
const textOf = (page: string): string =>
  page
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

const keyFiguresIn = (page: string): string =>
  textOf(/<dl class="key-figures">[^]*?<\/dl>/.exec(page)?.[0] ?? '');

/** The people of the week, each with their tasks. */
const peopleIn = (page: string): string[] =>
  [...page.matchAll(/<tbody>\s*<tr>\s*<th scope="rowgroup"[^]*?<\/tbody>/g)].map(([one]) =>
    textOf(one).trim(),
  );

test.each([
  ['Who has the most overdue follow-ups?', QUESTIONS.overdueByAssignee],
  ['How is the workforce trained?', QUESTIONS.trainingNow],
  ['How did compliance move, day by day?', QUESTIONS.trainingByDay],
  ['How many were in each status, day by day?', QUESTIONS.equipmentByDay],
])('the report and docs/questions.md answer “%s” with one SQL, apart from the account', (title, { sql }) => {
  const text = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
  const [, documented] = text.split(`. ${title}\n\n\`\`\`sql\n`);
  const ofAllAccounts = sql
    .replace('account_id = $1 and ', '')
    .replace('where account_id = $1\n', '')
    .replaceAll('($1)', '(account_id)');
  expect(documented?.startsWith(`${ofAllAccounts}\n\`\`\``)).toBe(true);
});

describe('the report of a full warehouse', () => {
  const worker = forAllTests(() =>
    createTestWorker({
      sandbox: {
        seed: 5,
        size: { followups: 400, employees: 120, equipment: 150, resources: 60, users: 40 },
      },
    }),
  );
  /** The report and its page before any of these tests changes the warehouse. */
  let report: Report;
  let page: string;
  /** The text of the page with other answers or facts. */
  const textWith = ({
    answers,
    ...facts
  }: Partial<Omit<Report, 'answers'>> & { answers?: Partial<Report['answers']> }) =>
    textOf(
      renderReport({ ...report, ...facts, answers: { ...report.answers, ...answers } }, { title: null }),
    );
  beforeAll(async () => {
    for (const result of await worker.runAll({ force: true })) expectSucceeded(result);
    for (const statement of GIVEN_PAST) await worker.query(statement);
    await countStored(worker.connection);
    report = await readReport(worker.connection, 'default');
    page = renderReport(report, { title: null });
  });

  test('the key figures of the report equal counts of the tables', async () => {
    const [row] = await worker.query<Record<string, number>>(`select
      (select count(*) from safety.followups where is_open and _deleted_at is null)::int as open,
      (select count(*) from safety.followups where is_open and due_on < (now() at time zone 'UTC')::date and _deleted_at is null)::int as overdue,
      (select count(*) from safety.training_employee_status where status in ('active', 'expiring') and _deleted_at is null)::int as trained,
      (select count(*) from safety.training_employee_status where status <> 'unassigned' and _deleted_at is null)::int as needed,
      (select count(*) from safety.equipment where is_in_service and status = 'expired' and _deleted_at is null)::int as expired,
      (select count(*) from safety.equipment where is_in_service and _deleted_at is null)::int as in_service`);
    const { open = 0, overdue = 0, trained, needed, expired, in_service: inService } = row ?? {};
    const keyFigures = keyFiguresIn(page);
    expect(keyFigures).toMatch(
      new RegExp(`Open follow-ups ${open} [▲▼] \\d+ (more|fewer) than a week ago ${open - overdue} of them`),
    );
    expect(keyFigures).toMatch(new RegExp(`Overdue follow-ups ${overdue} .* the oldest since`));
    expect(keyFigures).toContain(`${trained} of ${needed} who need training`);
    expect(keyFigures).toContain(`Expired equipment ${expired} `);
    expect(keyFigures).toContain(`of ${inService} in service`);
    expect(textOf(page)).toContain(
      `Late tasks are in lists of their own: ${overdue} overdue follow-ups, ${expired} pieces of expired equipment.`,
    );
  });

  test('the report explains that an inspection is listed for each of several responsible people', async () => {
    const [row] = await worker.query<{ shared: number }>(`select count(*)::int as shared
      from safety.equipment_inspections i join safety.equipment e on e.account_id = i.account_id and e.id = i.equipment_id
      where i.days_until_expiry between 0 and 6 and e.is_in_service and cardinality(e.assigned_user_ids) > 1`);
    expect(row?.shared).toBeGreaterThan(0);
    expect(textOf(page)).toMatch(
      /An inspection of equipment with several responsible people is listed for each/,
    );
  });

  test('the report has all sections, charts with a text for screen readers, and tables with a caption', () => {
    const headings = [...page.matchAll(/<h2[^>]*>([^<]*)</g)].map(([, title]) => title);
    expect(headings).toEqual([
      'Call first',
      'Due and lapsing next',
      'Overdue',
      'This week',
      'Follow-ups',
      'Training',
      'Equipment',
      'Documents',
      'About this data',
    ]);
    const charts = [...page.matchAll(/<svg [^>]*>/g)].map(([tag]) => tag);
    // Backlog, ages, closed in time, time to close; status, trend, weeks; types, trend: each for wide and narrow screens.
    expect(charts).toHaveLength(18);
    for (const tag of charts) expect(tag).toMatch(/role="img" aria-label="[^"]{10,}"/);
    expect(page.match(/<table/g)?.length).toBe(page.match(/<caption>/g)?.length);
    expect(page.match(/<table/g)?.length).toBeGreaterThanOrEqual(9);
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.every((level, at) => level <= (levels[at - 1] ?? 0) + 1)).toBe(true);
    expect(textOf(page)).toContain('The newest version of 4 of 60 documents is not approved.');
  });

  test('the last day of the trends of follow-ups and equipment equals the key figures, and today is dashed', () => {
    const value = (title: string) =>
      Number(
        new RegExp(`<dt>${title}</dt>\\s*<dd class="value[^"]*">([\\d,]+)<`)
          .exec(page)?.[1]
          ?.replace(',', ''),
      );
    const trends = [...page.matchAll(/<figure>\s*<figcaption>([^<]*at the end of each day)[^]*?<\/figure>/g)];
    const saidBy = (title: string, name: string) =>
      Number(
        new RegExp(`>([\\d,]+) ${name}<`)
          .exec(trends.find(([, caption]) => caption?.startsWith(title))?.[0] ?? '')?.[1]
          ?.replace(',', ''),
      );
    expect(trends).toHaveLength(3);
    expect(saidBy('Open follow-ups', 'overdue')).toBe(value('Overdue follow-ups'));
    expect(saidBy('Open follow-ups', 'overdue') + saidBy('Open follow-ups', 'not yet due')).toBe(
      value('Open follow-ups'),
    );
    expect(saidBy('Equipment in service', 'expired')).toBe(value('Expired equipment'));
    for (const [figure] of trends) {
      expect(figure).toContain('stroke-dasharray');
      expect(figure).toContain('Dashed: today, which is not over.');
    }
  });

  test('the report lists ten overdue follow-ups with their first and last message, and the number of the others', async () => {
    const overdue = await worker.query<{ id: string; first: string | null; last: string; messages: number }>(
      `select f.id, min(m.note) filter (where m.position = 1) as first, count(*)::int as messages,
         (array_agg(m.note order by m.position desc))[1] as last
       from safety.followups f left join safety.followup_messages m on m.account_id = f.account_id and m.followup_id = f.id
       where f.is_open and f.due_on < (now() at time zone 'UTC')::date and f._deleted_at is null
       group by f.id, f.due_on order by f.due_on, f.id`,
    );
    const list = textOf(/<caption>\s*Overdue for longest[^]*?<\/table>[^]*?<\/p>/.exec(page)?.[0] ?? '');
    expect(overdue.length).toBeGreaterThan(12);
    expect([...list.matchAll(/ (7\d{6}) /g)].map(([, id]) => id)).toEqual(
      overdue.slice(0, 10).map(({ id }) => id),
    );
    expect(list).toContain(
      `and ${overdue.length - 10} more: all with safety-sync report --account default --xlsx FILE , sheet overdue-followups .`,
    );
    for (const { first, last, messages } of overdue.slice(0, 10)) {
      if (first !== null) expect(list).toContain(`“${first}”`);
      if (messages > 1) expect(list).toContain(`: “${last}”`);
    }
  });

  test('the report says with how many further people the other overdue follow-ups are, and whether some have no assignee', () => {
    const late = report.answers.overdueByAge.reduce((sum, { overdue }) => sum + overdue, 0);
    const restWith = (shown: (string | null)[], people: number, unassigned: number) => {
      const [first] = report.answers.overdueByAssignee;
      if (first === undefined) throw new RangeError('nothing is overdue');
      const overdueByAssignee = shown.map((id) => ({ ...first, assignee_id: id, overdue: 1 }));
      const answers = { overdueByAssignee, peopleWithOverdue: [{ people, unassigned }] as const };
      return /The other [^:]*:/.exec(textWith({ answers }))?.[0];
    };
    const rest = formatCount(late - 2);
    expect(restWith(['a', 'b'], 2, late - 2)).toBe(`The other ${rest} are not assigned:`);
    expect(restWith(['a', 'b'], 3, 1)).toBe(`The other ${rest} are with 1 more person or not assigned:`);
    expect(restWith(['a', null], 5, 1)).toBe(`The other ${rest} are with 4 more people:`);
  });

  test('a follow-up with times that are still to come is in no period of the past', async () => {
    const [one] = await worker.query<{ id: string; created: string; resolved: string }>(
      `select id, created_at::text as created, resolved_at::text as resolved from safety.followups
       where not is_open and resolved_at < now() - interval '70 days' and _deleted_at is null limit 1`,
    );
    const set = (created: string, resolved: string) =>
      worker.query(`update safety.followups set created_at = ${created}, resolved_at = ${resolved}
        where id = '${one?.id ?? ''}'`);
    await set(`now() + interval '40 days'`, `timestamptz '58123-05-03'`);
    const { answers, today } = await readReport(worker.connection, 'default');
    await set(`'${one?.created ?? ''}'`, `'${one?.resolved ?? ''}'`);
    const { lastWeek, closedLately } = report.answers;
    expect(answers).toMatchObject({ lastWeek, closedLately });
    const months = [...answers.closedInTime, ...answers.timeToCloseByMonth].map(({ month }) => month);
    expect(months.filter((month) => month.length > 10 || month > today)).toEqual([]);
  });

  test('the lead about equipment is true if none is in service, or if a status is unknown', () => {
    const said = (...counts: [status: string, equipment: number][]) => {
      const [first] = report.answers.equipmentByType;
      if (first === undefined) throw new RangeError('there is no equipment');
      const equipmentByType = counts.map(([status, equipment]) => ({ ...first, status, equipment }));
      return textWith({ answers: { equipmentByType } });
    };
    expect(said()).toContain(' No equipment is in service. ');
    expect(said()).toContain('Expired equipment – no equipment in service');
    expect(said(['uptodate', 1])).toContain(' The only piece in service has valid inspections. ');
    expect(said(['expiring', 2], ['unknown', 1])).toContain(
      ' 2 of 3 pieces in service have valid inspections. ',
    );
  });

  test('the report lists each follow-up of the next seven days under its assignee, with its due day', async () => {
    const due = await worker.query<{ id: string; name: string; form: string; due: string }>(
      `select f.id, f.assignee_name as name, f.form_label as form, to_char(f.due_on, 'Dy FMDD Mon') as due from safety.followup_overview f
       where f.is_open and f.assignee_name is not null and f.due_on between (now() at time zone 'UTC')::date and (now() at time zone 'UTC')::date + 6`,
    );
    expect(due.length).toBeGreaterThan(2);
    const people = peopleIn(page);
    for (const { id, name, form, due: day } of due) {
      const theirs = people.find((one) => one.startsWith(`${name} `)) ?? '';
      expect(theirs).toContain(`${day} ${form}: follow-up ${id} is due`);
    }
    expect(people.join(' ').match(/ is due\b/g)).toHaveLength(due.length);
    expect(textOf(page)).toMatch(
      new RegExp(`In the next seven days ${due.length} follow-ups fall due, \\d+ required`),
    );
  });

  test('the report counts the tasks of all people, and shows six tasks for each of the first twenty people', async () => {
    const people = Array.from({ length: 40 }, (_, at) => `many-${String(at).padStart(2, '0')}`);
    await worker.query(`insert into safety.followups (account_id, id, is_open, assignee_id, due_on, created_at, _synced_at, _run_id)
      select 'default', p || '/' || n, true, p, (now() at time zone 'UTC')::date + n % 7, now() - interval '9 days', now(), 1
      from unnest('{${people.join(',')}}'::text[]) p, generate_series(1, 30) n`);
    onTestFinished(async () => {
      await worker.query(`delete from safety.followups where id like 'many%'`);
    });
    const page = await pageOf(worker);
    const [due] = await worker.query<{ count: number; others: number }>(
      `select count(*)::int as count, (count(*) filter (where id not like 'many%'))::int as others from safety.followups where is_open and _deleted_at is null
           and due_on between (now() at time zone 'UTC')::date and (now() at time zone 'UTC')::date + 6`,
    );
    expect(due?.count).toBeGreaterThan(1000);
    const said = textOf(page);
    expect(said).toContain(`In the next seven days ${formatCount(due?.count ?? 0)} follow-ups fall due`);
    expect(said).toMatch(
      new RegExp(`Not shown: \\d+ more people with ${20 * 30 + (due?.others ?? 0)} follow-ups`),
    );
    const many = peopleIn(page).filter((one) => one.startsWith('many-'));
    expect(many.map((one) => one.slice(0, 7))).toEqual(people.slice(0, 20));
    for (const one of many) {
      expect(one.match(/ is due\./g)).toHaveLength(6);
      expect(one).toContain('and 24 more tasks');
    }
  });

  test('an inspection that expired today counts as expired and not as a task of the week', async () => {
    const [one] = await worker.query<{ id: string; schedule: string; due: string; status: string }>(
      `select equipment_id as id, schedule_id as schedule, expires_at::text as due, status from safety.equipment_inspections
       where is_in_service and days_until_expiry between 0 and 6 and status <> 'expired' limit 1`,
    );
    const key = `equipment_id = '${one?.id ?? ''}' and schedule_id = '${one?.schedule ?? ''}'`;
    const inspections = async () => (await readReport(worker.connection, 'default')).answers.inspections[0];
    await worker.query(
      `update safety.equipment_schedules set status = 'expired', expires_at = (now() at time zone 'UTC')::date where ${key}`,
    );
    const after = await inspections();
    await worker.query(
      `update safety.equipment_schedules set status = '${one?.status ?? ''}', expires_at = '${one?.due ?? ''}' where ${key}`,
    );
    const [before] = report.answers.inspections;
    expect(after).toEqual({ expired: before.expired + 1, expiring: before.expiring - 1 });
  });

  test('the chart shows how many trainings lapse in the next 30 and 90 days, also if none lapses in the first 30', () => {
    const { lapsing, lapsingByWeek } = report.answers;
    const within = (days: number) => lapsing.find((row) => row.days === days)?.trainings ?? 0;
    expect(within(30)).toBeLessThan(within(90));
    expect(page).toContain(
      `aria-label="${within(30)} trainings in the next 30 days, ${within(90)} in the next 90."`,
    );
    expect(lapsingByWeek.reduce((sum, row) => sum + row.trainings, 0)).toBe(within(90));
    const late = lapsing.map((row) => ({ ...row, trainings: row.days === 90 ? 1 : 0 }));
    const answers = { ...report.answers, lapsing: late };
    expect(renderReport({ ...report, answers }, { title: null })).toContain(
      'aria-label="0 trainings in the next 30 days, 1 in the next 90."',
    );
  });

  test('the report adds the id to a label that several ids share', async () => {
    await worker.query(`insert into safety.labels (account_id, kind, id, label)
      select distinct 'default', 'form', form_id::text, 'Site walk' from safety.followups`);
    const said = textOf(await pageOf(worker));
    await worker.query('delete from safety.labels');
    const forms = report.answers.timeToCloseByForm.map(({ form_id: id }) => id ?? '');
    expect(forms.length).toBeGreaterThan(1);
    for (const id of forms) expect(said).toContain(`Site walk (${id})`);
  });

  test('the report shortens pseudonyms', () => {
    const pseudonym = `pseudonym:${'1a2b3c4d'.repeat(4)}`;
    const overdueByAssignee = report.answers.overdueByAssignee
      .slice(0, 1)
      .map((row) => ({ ...row, assignee_name: null, assignee_id: pseudonym }));
    const said = textWith({ answers: { overdueByAssignee } });
    expect(said).toContain('pseudonym:1a2b3c4d… ');
    expect(said).not.toContain(pseudonym);
  });

  test('the age of a part is unknown if its last read has a time that is still to come', () => {
    const ahead = (stream: string) =>
      report.streams.map((one) =>
        one.stream === stream ? { ...one, lastSuccessMs: report.asOfMs + 3 * 3_600_000 } : one,
      );
    const said = textWith({ streams: ahead('followups') });
    expect(said).toContain('The age of follow-ups is unknown, because a clock was put back.');
    expect(said).toMatch(/follow-ups \d+ \w+ \d+, \d\d:\d\d unknown: a clock was put back /);
    const only = ahead('followups').filter(({ stream }) => stream === 'followups');
    expect(textWith({ streams: only })).not.toContain('The data is less than a minute old.');
  });

  test('a key figure shows when its stream was last read from the service', () => {
    const streams = report.streams.map((one) =>
      one.stream === 'training-employee-status'
        ? { ...one, lastSuccessMs: Date.UTC(2026, 2, 1, 5, 30) }
        : one,
    );
    expect(textWith({ streams })).toMatch(/Trained \d+ % [^/]*? who need training; as of 1 Mar 2026, 05:30 /);
  });

  test('the report adds the user id to each name that several people share', async () => {
    const people = await worker.query<{ id: string; name: string }>(
      `select id, name from safety.users where id in (select assignee_id from safety.followups where is_open and due_on < current_date) order by id`,
    );
    await worker.query(`update safety.users set name = 'Ann', supervisor_id = null where id in (
      select assignee_id from safety.followups where is_open and due_on < current_date)`);
    const said = textOf(await pageOf(worker));
    expect(said).toMatch(
      /Who has the most overdue assignee overdue over 30 days oldest due office supervisor Ann \([\w-]+\) /,
    );
    expect(said).not.toMatch(/ Ann(?! \([\w-]+\))/);
    for (const { id, name } of people) {
      await worker.query(`update safety.users set name = '${name.replaceAll("'", "''")}' where id = '${id}'`);
    }
  });

  test('the date of a message contains the year if it is another one', () => {
    const of = (lastOn: string) => {
      const longestOverdue = report.answers.longestOverdue
        .slice(0, 1)
        .map((row) => ({ ...row, last_note: 'On it.', last_on: lastOn, last_by_name: 'Ann' }));
      return textWith({ today: '2026-03-02', answers: { longestOverdue } });
    };
    expect(of('2025-12-27')).toContain('Ann, 27 Dec 2025: “On it.”');
    expect(of('2026-02-27')).toContain('Ann, 27 Feb: “On it.”');
  });

  test('the report counts closed follow-ups that are open again', async () => {
    await worker.query(`insert into safety.followup_states (account_id, id, is_open, due_on, valid_from, valid_to)
      select account_id, id, is_open, due_on, _valid_from, now() from safety.followups where not is_open order by resolved_at, id limit 2`);
    await worker.query(`update safety.followups f set is_open = true, resolved_at = null, _valid_from = s.valid_to
      from safety.followup_states s where s.account_id = f.account_id and s.id = f.id and s.valid_from = f._valid_from`);
    const said = textOf(await pageOf(worker));
    expect(said).toMatch(/by their due day; 2 that had been closed are open again\. In the next seven/);
  });

  test('the report shows names instead of ids, and without names the command that imports labels', async () => {
    const hint = 'To give them names: safety-sync labels template';
    expect(textOf(page)).not.toContain(hint);
    await worker.query('update safety.names set name = null');
    expect(textOf(await pageOf(worker))).toContain(hint);
    await importLabels(worker.connection.db, readLabelsFile(Buffer.from(renderLabelsFile(sandboxLabels()))), {
      accountId: 'default',
      replace: false,
      signal: new AbortController().signal,
    });
    const named = textOf(await pageOf(worker));
    expect(named).not.toContain(hint);
    expect(named).not.toMatch(/\b(form 12\d\d|training 3\d\d|type 2\d|inspection 5\d\d|office 41\d)\b/);
    const names = [
      'Near miss',
      'Slinger and banksman',
      'Mobile crane',
      'Bump test',
      'Houston – Pasadena shop',
    ];
    for (const name of names) expect(named).toContain(name);
    await worker.query('delete from safety.labels');
    await worker.query(`update safety.names set name = _raw ->> 'name'`);
  });

  test('heading and title of the report contain the configured title', () => {
    const titled = renderReport(report, { title: 'Harbour & Works' });
    expect(titled).toContain('<h1>Harbour &amp; Works</h1>');
    expect(titled).toContain('<title>Safety report: Harbour &amp; Works, ');
    expect(textOf(titled)).not.toContain('Account default');
  });

  test('the page of the report contains no script and no link to an external resource', () => {
    expect(page.match(/<script|<link|<img|<iframe|\bsrc=|\bon[a-z]+=|url\(|@import/gi)).toBeNull();
    expect([...page.matchAll(/\bhref="([^"]*)"/g)].every(([, target]) => target?.startsWith('#'))).toBe(true);
    expect(page).toContain(`default-src 'none'; style-src 'unsafe-inline'`);
  });

  test('the report shows days and times in the time zone of the account', async () => {
    const move = (timezone: string) =>
      writeReportingTimezones(worker.connection.db, [{ accountId: 'default', timezone }]);
    await move('Pacific/Kiritimati');
    onTestFinished(async () => {
      await move('UTC');
    });
    const { timezone, today } = await readReport(worker.connection, 'default');
    const asOfMs = Date.UTC(2026, 2, 1, 23, 30);
    expect(textWith({ asOfMs, timezone, today: '2026-03-02' })).toContain(
      'as of 2 Mar 2026, 13:30 (Pacific/Kiritimati).',
    );
    const [row] = await worker.query<{ today: string }>(
      `select (now() at time zone 'Pacific/Kiritimati')::date::text as today`,
    );
    expect(today).toBe(row?.today);
  });

  test('the report lists data issues and the age of each part', async () => {
    await worker.query(`insert into safety_sync.data_issues (account_id, stream, fingerprint, kind, problem, field)
      values ('default', 'followups', 'x', 'field_nulled', 'expected a date', 'due')`);
    const page = textOf(await pageOf(worker));
    expect(page).toContain('1 value of due in followups could not be stored and is empty: expected a date');
    expect(page).toMatch(/ people \d+ \w+ 20\d\d, \d\d:\d\d less than a minute/);
    await worker.query(`delete from safety_sync.data_issues where fingerprint = 'x'`);
  });

  test('markup and control characters in data are shown as text', async () => {
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
    expect(page).toContain('\ufffd\ufffd[2J\ufffd&lt;/text&gt;');
    expect(page.match(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu)).toBeNull();
    expect([...page.matchAll(/<[^>]*\bonerror\b/g)].filter(([tag]) => !tag.includes('aria-label="'))).toEqual(
      [],
    );
  });
});

describe('the report of an incomplete warehouse', () => {
  const create = async (sandbox: SandboxOptions = {}) => untilTestEnds(await createTestWorker({ sandbox }));

  test('the report of an empty warehouse shows that nothing was read, and the next command', async () => {
    const page = textOf(await pageOf(await create()));
    expect(page).toContain(
      'Nothing was read from the service yet, so there is nothing to report. Next step: safety-sync sync ,',
    );
    expect(page).toContain('Equipment is read for the types named in SAFETY_EQUIPMENT_TYPES');
    expect(page).not.toContain('No record and no value of the service was rejected.');
    expect(page).not.toMatch(/Overdue follow-ups|This week/);
    expect(page).not.toContain('<svg');
    expect(page).not.toMatch(/NaN|undefined|Infinity|null/);
  });

  test.each([
    ['followups', 'training-employee-status'],
    ['training-employee-status', 'equipments'],
    ['equipments', 'resources'],
    ['resources', 'followups'],
  ] as const)(
    'with %s as the only stream, the report shows the command that syncs %s',
    async (stream, missing) => {
      const worker = await create();
      expectSucceeded(await worker.run(stream));
      const page = textOf(await pageOf(worker));
      expect(page).not.toContain('nothing to report');
      expect(page).toContain(`Next step: safety-sync sync ${missing} ,`);
      expect(page).not.toContain(`Next step: safety-sync sync ${stream} ,`);
      expect(page).not.toMatch(/NaN|undefined|Infinity/);
    },
  );

  test('the report distinguishes a stream without records from a stream that was never read', async () => {
    const worker = await create({
      size: { followups: 0, employees: 1, equipment: 1, resources: 1, users: 1 },
    });
    for (const result of await worker.runAll()) expectSucceeded(result);
    const page = textOf(await pageOf(worker));
    expect(page).toContain('The service responded, and has none. There is nothing to show for follow-ups.');
    expect(page).toContain('Open follow-ups – no follow-ups Overdue follow-ups – no follow-ups');
    expect(page).not.toMatch(/not read yet|Not known/);
    expect(page).toContain(
      'The service sends only the present state, so the trend begins on the second day.',
    );
  });
});
