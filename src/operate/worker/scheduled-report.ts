/**
 * Creates safety reports on schedule: renders, writes and mails them, of each account and each of REPORT_AREAS. The plan is in
 * the outbox, so a report that was due while no worker ran is created later, once.
 */
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import cron from 'node-cron';
import type { Account, App } from '../../app.ts';
import type { ReportConfig } from '../../config/notification-config.ts';
import type { ScheduledReport } from '../alerts/notifier.ts';
import { type OutboxRow, readOutbox, saveRows, takeTurn } from '../alerts/outbox.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toDatabaseError, toKnownError } from '../../engine/database/database-error.ts';
import { backoff } from '../../shared/backoff.ts';
import { isAnythingRead, readReport } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { toWorkbook } from '../../pages/report/take-along.ts';
import { areaText } from '../../shared/area.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { VERSION } from '../../version.ts';
import { deliver } from '../alerts/channel.ts';
import { createMail } from '../alerts/mail.ts';
import { toReportMail } from './report-mail.ts';

/** Longer than for an alert, because mail servers scan attachments. */
const MAIL_ATTEMPT_MS = 60 * SECOND_MS;
/** Delays after failed attempts. */
const DELAYS = { firstMs: 5 * MINUTE_MS, mostMs: HOUR_MS };
/** If our clock is this many ticks behind the database's, the next report is planned a day ahead. */
const PLANNED_AHEAD = 100;

/** Next tick after `afterMs` (database clock); node-cron only computes ticks after our own clock. */
export function nextReportMs(expression: string, timezone: string, afterMs: number): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ahead = task.getNextRuns(PLANNED_AHEAD).map((date) => date.getTime());
  void task.destroy();
  return ahead.find((ms) => ms > afterMs) ?? afterMs + DAY_MS;
}

async function writeFileOf(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeWholeFile(path, content);
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'usage_invalid') throw error;
    throw new SafetySyncError('report_unwritable', error.message, { cause: error });
  }
}

type AreaReport = ReportConfig['areas'][number];

export function createScheduledReport(app: App, config: ReportConfig): ScheduledReport {
  const { connection, clock, owner } = app;
  const { recordUrls, notifications } = app.config;
  const accounts = new Map(app.accounts.map((account) => [account.id, account]));
  const timezoneOf = (accountId: string): string =>
    accounts.get(accountId)?.config.schedule.timezone ?? 'UTC';
  /** By the subject of its row. */
  const areas = new Map(config.areas.map((one) => [areaText(one.area), one]));
  const subjects = ['', ...areas.keys()];

  /** Writes the files first and mails last, because writing twice is harmless and mailing twice is not. */
  async function create(
    { id, log, config: own }: Account,
    of: AreaReport | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { reportTitle: title, reportEmailTo = config.emailTo } = own;
    const to = of?.emailTo ?? reportEmailTo;
    const mail =
      notifications.mail === undefined || to.length === 0 ? undefined : createMail(notifications.mail, to);
    // Only other accounts or areas have recipients.
    if (config.folder === undefined && mail === undefined) return;
    const startedMs = clock.monotonicMs();
    let workbook: Buffer | undefined;
    const report = await readReport(connection, id, {
      area: of?.area ?? null,
      recordUrls,
      async also(snapshot) {
        if (isAnythingRead(snapshot.report)) workbook = await buffer(toWorkbook(snapshot));
      },
    });
    // Some file systems forbid other characters.
    const name = ['safety-report', id, ...(of === undefined ? [] : [areaText(of.area)]), report.today]
      .join('-')
      .replace(/[^\p{L}\p{N}.@_-]+/gu, '_');
    const xlsx = workbook === undefined ? undefined : `${name}.xlsx`;
    const page = renderReport(report, {
      title,
      along: { xlsx: xlsx === undefined ? undefined : encodeURI(xlsx) },
    });
    if (config.folder !== undefined) {
      if (workbook !== undefined) await writeFileOf(join(config.folder, `${name}.xlsx`), workbook);
      await writeFileOf(join(config.folder, `${name}.html`), page);
    }
    if (mail !== undefined) {
      const signature = `safety-sync ${VERSION}, account ${id}, ${owner}`;
      const message = toReportMail({ title, report, name, page, workbook, folder: config.folder, signature });
      const problem = await deliver({ channel: mail, message, signal, attemptMs: MAIL_ATTEMPT_MS });
      if (problem !== null) log.warn(`${problem}; the others get the report`);
    }
    const done = [
      ...(config.folder === undefined ? [] : [`written to ${join(config.folder, name)}.html`]),
      ...(mail === undefined ? [] : ['mailed']),
    ];
    const tookMs = clock.monotonicMs() - startedMs;
    const what = of === undefined ? 'the report' : `the report of ${areaText(of.area)}`;
    log.info(
      { duration_ms: Math.round(tookMs) },
      `${what} was ${done.join(' and ')} in ${formatDuration(tookMs)}`,
    );
  }

  async function lookAt(
    row: OutboxRow,
    { account, nowMs, signal }: { account: Account; nowMs: number; signal: AbortSignal },
  ): Promise<OutboxRow> {
    try {
      await create(account, areas.get(row.subject), signal);
      const dueMs = nextReportMs(config.cron, timezoneOf(account.id), nowMs);
      return { ...row, sentMs: nowMs, dueMs, tries: 0, problem: null };
    } catch (caught) {
      const { code, message, advice } = toKnownError(caught);
      const what = row.subject === '' ? 'the report' : `the report of ${row.subject}`;
      account.log.error({ error_code: code }, `${what}: ${code}: ${message}; trying again. ${advice}`);
      const tries = row.tries + 1;
      const dueMs = nowMs + (signal.aborted ? 0 : backoff(tries, DELAYS));
      return { ...row, tries, problem: code, dueMs };
    }
  }

  async function lookAtAccount(
    one: Queryable,
    account: Account,
    { nowMs, signal }: { nowMs: number; signal: AbortSignal },
  ): Promise<void> {
    const { id: accountId } = account;
    const detail = `${config.cron} ${timezoneOf(accountId)}`;
    const rows = (await readOutbox(one, [accountId])).filter(({ channel }) => channel === 'report');
    const dropped = rows.filter((row) => !subjects.includes(row.subject) && row.endedMs === null);
    if (dropped.length > 0)
      await saveRows(
        one,
        dropped.map((row) => ({ ...row, endedMs: nowMs, dueMs: null, problem: null })),
      );
    for (const subject of subjects) {
      // A plan of another schedule is replaced.
      const row = rows.find((known) => known.subject === subject && known.detail === detail);
      if (row === undefined) {
        const dueMs = nextReportMs(config.cron, timezoneOf(accountId), nowMs);
        const plan = { accountId, event: 'report', subject, channel: 'report', code: null } as const;
        const unsent = { endedMs: null, sentMs: null, tries: 0, problem: null };
        await saveRows(one, [{ ...plan, ...unsent, detail, beganMs: nowMs, dueMs }]);
      } else if (row.dueMs !== null && row.dueMs <= nowMs && !signal.aborted)
        await saveRows(one, [await lookAt(row, { account, nowMs, signal })]);
    }
  }

  return {
    async look(nowMs, signal) {
      try {
        await takeTurn(app.warehouse.url, 'reports', async (one) => {
          for (const account of app.accounts)
            if (!signal.aborted) await lookAtAccount(one, account, { nowMs, signal });
        });
      } catch (caught) {
        const { code, message } = toDatabaseError(caught);
        app.log.debug({ error_code: code }, `the plan of the reports cannot be read: ${message}`);
      }
    },
  };
}
