/** The scheduled report, in a time that the test moves. */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { failedReportsOf, readOutbox } from '../../src/operate/alerts/outbox.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { startHookServer } from '../support/hook-server.ts';
import { folderForTest, forAllTests, forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { startMailServer } from '../support/mail-server.ts';
import { createNotifyFixture, type NotifyingWorker } from '../support/notify-fixture.ts';
import { createTestWorker } from '../support/world.ts';

const SIZE = { followups: 30, employees: 10, equipment: 12, resources: 5, users: 8 };
const WEEKLY = '0 7 * * 1';
const WEEK_MS = 7 * DAY_MS;

const worker = forAllTests(() => createTestWorker({ sandbox: { seed: 5, size: SIZE } }));
const mail = forEachTest(() => startMailServer());
const fixture = createNotifyFixture(worker);
const pass = fixture.pass.bind(fixture);
let folder: string;

beforeAll(async () => {
  await worker.syncAll();
});

beforeEach(async () => {
  fixture.passedMs = 0;
  folder = await folderForTest('safety-sync-reports-');
  await worker.query('truncate safety_sync.outbox');
});

/** A worker that sends a report every Monday. */
const start = async (owner = 'a', env: Readonly<Record<string, string>> = {}): Promise<NotifyingWorker> =>
  await fixture.start(
    {
      REPORT_CRON: WEEKLY,
      REPORT_DIR: folder,
      REPORT_EMAIL_TO: 'you@example.com,boss@example.com',
      REPORT_TITLE: 'North Ltd',
      SMTP_URL: mail.url,
      ALERT_EMAIL_FROM: 'sync@example.com',
      SYNC_TIMEZONE: 'Europe/Oslo',
      FRESHNESS_BUDGET_MINUTES: '1000000',
      ALERT_AFTER_MINUTES: '0',
      RECORD_URL_TEMPLATE_FOLLOWUP: 'https://service.example.com/f/{id}',
      RECORD_URL_TEMPLATE_EMPLOYEE: 'https://service.example.com/e?id={id}',
      ...env,
    },
    { owner },
  );

/** The worker plans the report, which is due a week later. */
async function planAndSend(env: Readonly<Record<string, string>>): Promise<NotifyingWorker> {
  const one = await start('a', env);
  await one.look();
  await pass(WEEK_MS, one);
  return one;
}

async function todaysName(type: 'html' | 'xlsx'): Promise<string> {
  const [day] = await worker.query<{ today: string }>(
    `select safety.reporting_today('default')::text as today`,
  );
  return `safety-report-default-${day?.today ?? ''}.${type}`;
}

it('one of several workers makes a due report: page and workbook in REPORT_DIR, and a mail with figures and both files', async () => {
  const workers = [await start('a'), await start('b'), await start('c')];
  await pass(0, ...workers);
  expect(await readdir(folder)).toEqual([]);
  fixture.passedMs = WEEK_MS;
  for (let look = 0; look < 2; look += 1) await Promise.all(workers.map((one) => one.look()));

  const [name, workbook] = [await todaysName('html'), await todaysName('xlsx')];
  expect((await readdir(folder)).toSorted()).toEqual([name, workbook]);
  const page = await readFile(join(folder, name), 'utf8');
  expect(page).toMatch(/^<!doctype html>[^]*<\/html>\s*$/);

  expect(mail.mails).toHaveLength(1);
  const [sent] = mail.mails;
  expect(sent?.to).toEqual(['you@example.com', 'boss@example.com']);
  expect(sent?.subject).toMatch(/^Safety report: North Ltd, \d+ \w+ \d{4}$/);
  expect(sent?.files[name]?.toString().replace(/\r\n/g, '\n')).toBe(page);
  const [open] = await worker.query<{ count: number }>(
    `select count(*)::int as count from safety.followups where is_open and _deleted_at is null`,
  );
  expect(sent?.text).toContain(`Open follow-ups: ${open?.count ?? 0} (`);
  expect(sent?.text).toContain('Stop or replace today');
  const attached = sent?.files[workbook];
  expect(attached?.equals(await readFile(join(folder, workbook)))).toBe(true);
});

it('if several reports came due while no worker ran, the next worker makes one', async () => {
  await pass(0, await start());
  const later = await start('later');
  await pass(22 * DAY_MS, later, later);
  expect(mail.mails).toHaveLength(1);
  await pass(WEEK_MS, later);
  expect(mail.mails).toHaveLength(2);
});

it('a report that cannot be written or mailed is an alert and is retried, until it is sent', async () => {
  const hook = untilTestEnds(await startHookServer());
  const missing = join(folder, 'missing');
  const one = await planAndSend({ ALERT_WEBHOOK_URL: hook.url, REPORT_DIR: missing });
  const failed = async () => failedReportsOf(await readOutbox(worker.connection.db, ['default']));
  expect(await failed()).toEqual(new Map([['default', 'report_unwritable']]));
  await mkdir(missing);
  mail.behaviour = 'refuse';
  await pass(6 * MINUTE_MS, one, one);
  expect(await failed()).toEqual(new Map([['default', 'mail_failed']]));
  expect(one.notifier.status.failedReports).toEqual(new Map([['default', 'mail_failed']]));
  mail.behaviour = 'take';
  await pass(HOUR_MS, one, one);
  expect(one.notifier.status.failedReports).toEqual(new Map());
  expect(await failed()).toEqual(new Map());
  expect(mail.mails).toHaveLength(1);
  const ofReport = hook.texts.filter((text) => text.includes('report_unwritable'));
  expect(ofReport.map((text) => text.charAt(0))).toEqual(['✗', '✓']);
});

it('the report of an account with report_email_to is sent there, the reports of the others to REPORT_EMAIL_TO', async () => {
  await planAndSend({
    SAFETY_BASE_URL: '',
    SAFETY_TOKEN: '',
    SAFETY_EQUIPMENT_TYPES: '',
    REPORT_TITLE: '',
    SAFETY_ACCOUNTS_FILE: await writeAccountsFile([
      entryFor('default', worker.sandbox),
      entryFor('north', worker.sandbox, { report_email_to: 'north@example.com' }),
    ]),
  });
  expect(mail.mails.map(({ to, subject }) => [to, subject.split(',')[0]])).toEqual([
    [['you@example.com', 'boss@example.com'], 'Safety report: default'],
    [['north@example.com'], 'Safety report: north'],
  ]);
});
