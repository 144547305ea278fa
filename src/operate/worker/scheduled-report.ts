/**
 * Creates safety reports on schedule: renders, writes and mails them, of each account. The plan is in the
 * outbox, so a report that was due while no worker ran is created later, once.
 */
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import cron from 'node-cron';
import type { Account, App } from '../../app.ts';
import type { ReportConfig } from '../../config/notification-config.ts';
import { type OutboxRow, readOutbox, takeTurn, writeRows } from '../alerts/outbox.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toDatabaseError, toKnownError } from '../../engine/database/database-error.ts';
import { backoff } from '../../shared/backoff.ts';
import { isAnythingRead, readReport } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { toWorkbook } from '../../pages/report/take-along.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, toIso, toMs } from '../../shared/time.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { VERSION } from '../../version.ts';
import { deliver } from '../alerts/channel.ts';
import { createMail } from '../alerts/mail.ts';
import { toReportMail } from './report-mail.ts';

/** Longer than for an alert, because mail servers scan attachments. */
const MAIL_ATTEMPT_MS = 60 * SECOND_MS;
/** Delays after failed attempts. */
const DELAYS = { firstMs: 5 * MINUTE_MS, mostMs: HOUR_MS };
/** The first tick that is after `afterMs` by the database's clock; node-cron only computes those after our own clock. */
function nextReportMs(expression: string, timezone: string, afterMs: number): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ahead = task.getNextRuns(2).map((date) => date.getTime());
  void task.destroy();
  return ahead.find((ms) => ms > afterMs) ?? afterMs + DAY_MS;
}

/** Returns the function that makes the reports that are due; it never rejects. `now`: by the database's clock. */
export function createScheduledReport(app: App, config: ReportConfig, now: () => number) {
  const { connection, owner } = app;
  const { recordUrls, notifications } = app.config;

  /** Writes the files first and mails last, because writing twice is harmless and mailing twice is not. */
  async function create({ id, log, config: own }: Account, signal: AbortSignal): Promise<void> {
    const { reportTitle: title, reportEmailTo: to = config.emailTo } = own;
    const server = to.length === 0 ? undefined : notifications.mail;
    // Only other accounts have recipients.
    if (config.folder === undefined && server === undefined) return;
    const asked = { accountId: id, recordUrls };
    const { report, workbook } = await readReport(connection, asked, async (snapshot) => ({
      report: snapshot.report,
      workbook: isAnythingRead(snapshot.report) ? await buffer(toWorkbook(snapshot)) : undefined,
    }));
    // Some file systems forbid other characters.
    const name = `safety-report-${id}-${report.today}`.replace(/[^\p{L}\p{N}.@_-]+/gu, '_');
    const xlsx = workbook && encodeURI(`${name}.xlsx`);
    const page = renderReport(report, { title, along: { xlsx } });
    if (config.folder !== undefined) {
      const path = join(config.folder, name);
      if (workbook !== undefined) await writeWholeFile(`${path}.xlsx`, workbook, 'report_unwritable');
      await writeWholeFile(`${path}.html`, page, 'report_unwritable');
      log.info(`the report was written to ${path}.html`);
    }
    if (server === undefined) return;
    const signature = `safety-sync ${VERSION}, account ${id}, ${owner}`;
    const message = toReportMail(report, { title, name, page, workbook, signature });
    const problem = await deliver(createMail(server, to), message, signal, MAIL_ATTEMPT_MS);
    if (problem !== null) log.warn(`${problem}; the others get the report`);
    log.info('the report was mailed');
  }

  /** The plan after an attempt: the next report, or the next attempt. */
  async function attempt(row: OutboxRow, account: Account, signal: AbortSignal): Promise<OutboxRow> {
    const nowMs = now();
    try {
      await create(account, signal);
      const dueMs = nextReportMs(config.cron, account.config.schedule.timezone, nowMs);
      return { ...row, sent_at: toIso(nowMs), due_at: toIso(dueMs), tries: 0, problem: null };
    } catch (caught) {
      const { code, message, advice } = toKnownError(caught);
      account.log.error({ error_code: code }, `the report: ${code}: ${message}; trying again. ${advice}`);
      const tries = row.tries + 1;
      const dueMs = nowMs + (signal.aborted ? 0 : backoff(tries, DELAYS));
      return { ...row, tries, problem: code, due_at: toIso(dueMs) };
    }
  }

  async function lookAt(one: Queryable, account: Account, signal: AbortSignal): Promise<void> {
    const { id } = account;
    const { timezone } = account.config.schedule;
    const detail = `${config.cron} ${timezone}`;
    const rows = (await readOutbox(one, [id])).filter(({ channel }) => channel === 'report');
    // A plan of another schedule is replaced.
    const row = rows.find((known) => known.detail === detail);
    if (signal.aborted || (row !== undefined && toMs(row.due_at ?? row.began_at) > now())) return;
    const plan: OutboxRow = {
      ...{ account_id: id, event: 'report', subject: '', channel: 'report', code: null, detail },
      ...{ began_at: toIso(now()), ended_at: null, sent_at: null, tries: 0, problem: null },
      due_at: toIso(nextReportMs(config.cron, timezone, now())),
    };
    await writeRows(one, [row === undefined ? plan : await attempt(row, account, signal)]);
  }

  return async (signal: AbortSignal): Promise<void> => {
    try {
      await takeTurn(app.warehouse.url, 'reports', async (one) => {
        for (const account of app.accounts) await lookAt(one, account, signal);
      });
    } catch (caught) {
      const { code, message } = toDatabaseError(caught);
      app.log.debug({ error_code: code }, `the plan of the reports cannot be read: ${message}`);
    }
  };
}
