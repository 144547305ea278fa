/** The scheduled report, in a time that the test moves. */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Channel } from '../../src/operate/alerts/channel.ts';
import { createMail } from '../../src/operate/alerts/mail.ts';
import { createNotifier, type Notifier } from '../../src/operate/alerts/notifier.ts';
import { claimRows, failedReportsOf, readOutbox } from '../../src/operate/alerts/outbox.ts';
import type { Logger } from '../../src/shared/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, systemClock } from '../../src/shared/time.ts';
import { createMetrics } from '../../src/operate/status/metrics.ts';
import { type AccountsRead, readAccounts } from '../../src/operate/status/read-accounts.ts';
import { createScheduledReport, nextReportMs } from '../../src/operate/worker/scheduled-report.ts';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { buildNotifier } from '../../src/operate/worker/build-notifier.ts';
import { createGate } from '../support/gate.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { folderForTest, forAllTests, forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { startMailServer } from '../support/mail-server.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const SIZE = { followups: 30, employees: 10, equipment: 12, resources: 5, users: 8 };
const WEEKLY = '0 7 * * 1';

const worker = forAllTests(() => createTestWorker({ sandbox: { seed: 5, size: SIZE } }));
const mail = forEachTest(() => startMailServer());
let folder: string;
let passedMs = 0;

beforeAll(async () => {
  for (const result of await worker.runAll()) expect(result.outcome).toBe('succeeded');
});

beforeEach(async () => {
  passedMs = 0;
  folder = await folderForTest('safety-sync-reports-');
  await worker.query('truncate safety_sync.outbox');
});

interface Reporter {
  readonly lines: { readonly level: string; readonly text: string }[];
  readonly notifier: Notifier;
  look(): Promise<void>;
}

interface ReportingOptions {
  readonly of?: TestWorker;
  readonly cron?: string;
  readonly to?: string | null;
  readonly channels?: readonly Channel[];
  readonly changeMail?: (real: Channel) => Channel;
}

async function lookAndSend(notifier: Notifier): Promise<void> {
  await notifier.look();
  await notifier.idle();
}

async function startReporting(
  owner = 'host pid 1',
  {
    of = worker,
    cron = WEEKLY,
    to = folder,
    channels = [],
    changeMail = (real) => real,
  }: ReportingOptions = {},
): Promise<Reporter> {
  const { connection } = of;
  const lines: { level: string; text: string }[] = [];
  const hear = (level: string) => (_: unknown, text: string) => void lines.push({ level, text });
  const log = { debug: hear('debug'), info: hear('info'), error: hear('error') } as unknown as Logger;
  const read = await readAccounts(connection, ['default']);
  const seen = (): AccountsRead => ({ ...read, databaseNowMs: read.databaseNowMs + passedMs });
  const report = createScheduledReport({
    config: { cron, folder: to ?? undefined, emailTo: ['you@example.com', 'boss@example.com'] },
    accounts: [
      {
        id: 'default',
        log,
        config: {
          reportTitle: 'North Ltd',
          equipmentTypes: [],
          schedule: { timezone: 'Europe/Oslo' },
        },
      },
    ],
    mailTo: (people) => changeMail(createMail({ smtpUrl: mail.url, from: 'sync@example.com' }, people)),
    connection,
    recordUrls: {
      followup: 'https://service.example.com/f/{id}',
      employee: 'https://service.example.com/e?id={id}',
    },
    clock: systemClock,
    version: '1.2.3',
    owner,
  });
  const notifier = createNotifier({
    channels,
    report,
    accounts: [{ id: 'default', offReasons: {}, config: { service: undefined, reportingTimezone: null } }],
    latest: () => ({ seen: seen(), problem: null }),
    outage: () => undefined,
    db: connection.db,
    clock: systemClock,
    version: '1.2.3',
    owner,
    afterMs: 0,
    freshnessBudgetMinutes: 1e9,
    log,
    redact: (text) => text,
    onOutcome: () => undefined,
    stopTimeoutMs: 100,
  });
  onTestFinished(() => notifier.stop());
  return { lines, look: () => lookAndSend(notifier), notifier };
}

it('one of several workers makes a due report: page and workbook in REPORT_DIR, and a mail with figures and both files', async () => {
  const workers = [await startReporting('a'), await startReporting('b'), await startReporting('c')];
  for (const one of workers) await one.look();
  expect(await readdir(folder)).toEqual([]);
  passedMs = 7 * DAY_MS;
  await Promise.all(workers.map((one) => one.look()));
  await Promise.all(workers.map((one) => one.look()));

  const [day] = await worker.query<{ today: string }>(
    `select safety.reporting_today('default')::text as today`,
  );
  const name = `safety-report-default-${day?.today ?? ''}.html`;
  const workbook = name.replace('html', 'xlsx');
  expect((await readdir(folder)).toSorted()).toEqual([name, workbook]);
  const page = await readFile(join(folder, name), 'utf8');
  expect(page).toMatch(/^<!doctype html>[^]*<\/html>\s*$/);

  expect(mail.mails).toHaveLength(1);
  const [sent] = mail.mails;
  expect(sent?.to).toEqual(['you@example.com', 'boss@example.com']);
  expect(sent?.subject).toMatch(/^Safety report: North Ltd, \d+ \w+ \d{4}$/);
  expect(sent?.attachments[name]?.replace(/\r\n/g, '\n')).toBe(page);
  const [open] = await worker.query<{ count: number }>(
    `select count(*)::int as count from safety.followups where is_open and _deleted_at is null`,
  );
  expect(sent?.parts['text/plain']).toContain(`Open follow-ups: ${open?.count ?? 0} (`);
  expect(sent?.parts['text/html']).toContain('Open follow-ups');
  const attached = sent?.files[workbook];
  expect(attached?.equals(await readFile(join(folder, workbook)))).toBe(true);
  expect(page).toContain(`Every list with all its rows: <code>${workbook}</code>`);
  expect(sent?.parts['text/plain']).toContain(
    `All rows of its lists are attached as a workbook: ${workbook}.`,
  );
  expect(workers.flatMap(({ lines }) => lines)).toEqual([
    { level: 'info', text: expect.stringMatching(/^the report was written to .* and mailed in /) as string },
  ]);
});

it('a workbook that is too large for a mail is not attached, and the mail contains its path or the command that writes it', async () => {
  await worker.query(`insert into safety.followups (account_id, id, is_open, assignee_id, due_on, created_at, _synced_at, _run_id)
    select 'default', 'large-' || n, true, 'o/1', '2020-01-01', '2020-01-01', now(), 1 from generate_series(1, 400) n`);
  await worker.query(`insert into safety.followup_messages (account_id, followup_id, id, position, note)
    select 'default', 'large-' || n, 'm', 1, (select string_agg(encode(sha512((random()::text || n || m)::bytea), 'base64'), '') from generate_series(1, 200) m)
    from generate_series(1, 400) n`);
  const name = (await todaysName())?.replace('html', 'xlsx') ?? '';
  onTestFinished(async () => {
    await worker.query(`delete from safety.followup_messages where followup_id like 'large-%'`);
    await worker.query(`delete from safety.followups where id like 'large-%'`);
  });
  for (const [to, where] of [
    [folder, join(folder, name)],
    [null, 'safety-sync report --account default --xlsx FILE writes it'],
  ] as const) {
    await worker.query('truncate safety_sync.outbox');
    passedMs = 0;
    const one = await startReporting('a', { to });
    await one.look();
    passedMs = 7 * DAY_MS;
    await one.look();
    const sent = mail.mails.at(-1);
    expect(Object.keys(sent?.files ?? {})).toEqual([name.replace('xlsx', 'html')]);
    expect(sent?.parts['text/plain']).toContain(
      `The workbook with all rows of its lists is too large for a mail: ${where}.`,
    );
    expect(sent?.files[name.replace('xlsx', 'html')]?.includes(`<code>${name}</code>`)).toBe(to !== null);
  }
  expect(mail.mails).toHaveLength(2);
  expect(await readdir(folder)).toContain(name);
});

it('the mail lists the people to call first, with links if URL templates are set', async () => {
  const one = await startReporting();
  await one.look();
  passedMs = 7 * DAY_MS;
  await one.look();
  const [first] = await worker.query<{ id: string; name: string; overdue: number }>(
    `select assignee_id as id, assignee_name as name, count(*)::int as overdue from safety.followup_overview
     where is_overdue group by 1, 2 order by 3 desc, min(due_on), 1 limit 1`,
  );
  const [oldest] = await worker.query<{ id: string }>(
    `select id from safety.followup_overview where is_overdue order by due_on, id limit 1`,
  );
  const [sent] = mail.mails;
  const link = `https://service.example.com/e?id=${encodeURIComponent(first?.id ?? '')}`;
  expect(sent?.parts['text/plain']).toMatch(
    new RegExp(
      `Call first:\\r?\\n- ${first?.name ?? ''}.*: ${first?.overdue ?? 0} overdue, .* <${link.replace('?', '\\?')}>`,
    ),
  );
  expect(sent?.parts['text/html']).toContain(`<a href="${link}" rel="noreferrer">`);
  expect(sent?.parts['text/html']).toContain(`<a href="https://service.example.com/f/${oldest?.id ?? ''}"`);
});

it('the mail for an account that was never read reports this instead of figures', async () => {
  const one = await startReporting('a', { of: untilTestEnds(await createTestWorker()) });
  await one.look();
  passedMs = 7 * DAY_MS;
  await one.look();
  const [sent] = mail.mails;
  for (const part of ['text/plain', 'text/html'] as const) {
    expect(sent?.parts[part]).toContain(
      'Nothing was read from the service yet, so there is nothing to report.',
    );
    expect(sent?.parts[part]).not.toContain('not read yet');
  }
});

it('if several reports came due while no worker ran, the next worker makes one', async () => {
  await (await startReporting()).look();
  passedMs = 22 * DAY_MS;
  const later = await startReporting('later');
  await later.look();
  await later.look();
  expect(mail.mails).toHaveLength(1);
  passedMs += 7 * DAY_MS;
  await later.look();
  expect(mail.mails).toHaveLength(2);
});

it('a report that a killed worker had begun is made by another worker', async () => {
  const one = await startReporting();
  await one.look();
  passedMs = 7 * DAY_MS;
  const nowMs = Date.now() + passedMs;
  const { db } = worker.connection;
  const [row, ...others] = await readOutbox(db, ['default']);
  expect(others).toEqual([]);
  const claim = { owner: 'dead', nowMs, untilMs: nowMs + 10 * MINUTE_MS };
  expect(await claimRows(db, row === undefined ? [] : [row], claim)).toHaveLength(1);
  await one.look();
  expect(mail.mails).toEqual([]);
  passedMs += 11 * MINUTE_MS;
  await one.look();
  expect(mail.mails).toHaveLength(1);
});

it('if a worker stops before it has sent the mail, another worker sends the report', async () => {
  const mailing = createGate();
  const one = await startReporting('a', {
    changeMail: (real) => ({
      ...real,
      send(_, signal) {
        mailing.open();
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        );
      },
    }),
  });
  await one.look();
  passedMs = 7 * DAY_MS;
  const looking = one.look();
  await mailing.opened;
  await one.notifier.stop();
  await looking;
  await (await startReporting('b')).look();
  expect(mail.mails).toHaveLength(1);
});

it('a failed report is an alert, which ends when the report is sent', async () => {
  const texts: string[] = [];
  const channel: Channel = {
    name: 'webhook',
    place: 'the webhook',
    send: ({ text }) => {
      texts.push(text.split(';')[0] ?? '');
      return Promise.resolve([]);
    },
  };
  const one = await startReporting('a', { channels: [channel] });
  await one.look();
  passedMs = 7 * DAY_MS;
  mail.behaviour = 'refuse';
  await one.look();
  await one.look();
  expect(one.notifier.status.failedReports).toEqual([{ accountId: 'default', code: 'mail_failed' }]);
  mail.behaviour = 'take';
  passedMs += HOUR_MS;
  await one.look();
  await one.look();
  expect(one.notifier.status.failedReports).toEqual([]);
  expect(texts.map((text) => text.charAt(0))).toEqual(['✗', '✓']);
  expect(texts[0]).toContain('(mail_failed)');
});

it('a report that cannot be written or mailed is retried and counts as failed until it is sent', async () => {
  const missing = join(folder, 'missing');
  const one = await startReporting('a', { to: missing });
  await one.look();
  passedMs = 7 * DAY_MS;
  await one.look();
  const failed = async () => failedReportsOf(await readOutbox(worker.connection.db, ['default']));
  expect(await failed()).toEqual([{ accountId: 'default', code: 'report_unwritable' }]);
  expect(one.lines.at(-1)).toEqual({
    level: 'error',
    text: `the report: report_unwritable: cannot write ${join(missing, (await todaysName())?.replace('html', 'xlsx') ?? '')}: its directory does not exist; make it first, or name another one; trying again. Make the directory of REPORT_DIR and let the worker’s user write there.`,
  });
  await mkdir(missing);
  mail.behaviour = 'refuse';
  passedMs += 6 * MINUTE_MS;
  await one.look();
  expect(await failed()).toEqual([{ accountId: 'default', code: 'mail_failed' }]);
  mail.behaviour = 'take';
  passedMs += HOUR_MS;
  await one.look();
  expect(await failed()).toEqual([]);
  expect(mail.mails).toHaveLength(1);
});

async function todaysName(): Promise<string | undefined> {
  const [day] = await worker.query<{ name: string }>(
    `select 'safety-report-default-' || safety.reporting_today('default') || '.html' as name`,
  );
  return day?.name;
}

it('a changed REPORT_CRON plans the next report again and makes none before it is due', async () => {
  await (await startReporting()).look();
  const other = await startReporting('b', { cron: '0 9 1 1 *' });
  await other.look();
  const [plan] = await readOutbox(worker.connection.db, ['default']);
  expect(plan?.detail).toBe('0 9 1 1 * Europe/Oslo');
  expect(new Date(plan?.dueMs ?? 0).toISOString()).toMatch(/-01-01T08:00:00.000Z$/);
  passedMs = 8 * DAY_MS;
  const isNewYear = new Date(Date.now() + passedMs).getUTCFullYear() !== new Date().getUTCFullYear();
  await other.look();
  expect(mail.mails).toHaveLength(isNewYear ? 1 : 0);
});

it('the next report is planned in the time zone of the schedules, later than the last one', () => {
  const next = nextReportMs(WEEKLY, 'Europe/Oslo', Date.now());
  const text = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Oslo',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  }).format(next);
  expect(text).toBe('Mon 07:00');
  expect(nextReportMs(WEEKLY, 'Europe/Oslo', next) - next).toBeGreaterThan(6.9 * DAY_MS);
});

it('the report of an account with report_email_to is sent there, the reports of the others to REPORT_EMAIL_TO', async () => {
  const path = await writeAccountsFile([
    entryFor('default', worker.sandbox),
    entryFor('north', worker.sandbox, { report_email_to: 'north@example.com' }),
  ]);
  const config = loadConfig(
    {
      SAFETY_ACCOUNTS_FILE: path,
      DATABASE_URL: worker.databaseUrl,
      SMTP_URL: mail.url,
      ALERT_EMAIL_FROM: 'sync@example.com',
      REPORT_CRON: WEEKLY,
      REPORT_EMAIL_TO: 'all@example.com',
      LOG_LEVEL: 'silent',
    },
    { needsService: true, isTerminal: false },
  );
  const signal = new AbortController().signal;
  const app = untilTestEnds(await createApp({ config, signal, say: () => undefined }));
  const read = await readAccounts(worker.connection, ['default', 'north']);
  const monitor = {
    get latest() {
      const seen = { ...read, databaseNowMs: read.databaseNowMs + passedMs };
      return { seen, counted: null, countedAtMs: null, problem: null, isSlow: false };
    },
  };
  const metrics = createMetrics({ version: '1.2.3', accountIds: ['default', 'north'], channels: [] });
  const notifier = buildNotifier(app, { monitor, metrics, channels: [] });
  onTestFinished(() => notifier.stop());
  await lookAndSend(notifier);
  passedMs += 8 * DAY_MS;
  await lookAndSend(notifier);
  expect(mail.mails.map(({ to, subject }) => [to, subject.split(',')[0]])).toEqual([
    [['all@example.com'], 'Safety report: default'],
    [['north@example.com'], 'Safety report: north'],
  ]);
  metrics.close();
});
