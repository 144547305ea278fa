/**
 * Creates safety reports on schedule: renders, writes and mails them. The plan is in the outbox, so a report that was due
 * while no worker ran is created later, once.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import cron from 'node-cron';
import type { Account, App } from '../../app.ts';
import { deliver } from '../alerts/channel.ts';
import { createMail } from '../alerts/mail.ts';
import type { ReportConfig } from '../../config/notification-config.ts';
import type { ReportDestination } from '../alerts/notifier.ts';
import { isAnythingRead, readReport, type Report, type Snapshot } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { showReport } from '../../pages/report/shown-report.ts';
import { toWorkbook, writeWorkbook } from '../../pages/report/take-along.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatDay } from '../../pages/words.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { VERSION } from '../../version.ts';
import { toReportMail, type Workbook } from './report-mail.ts';

/** Longer than for an alert, because mail servers scan attachments. */
const MAIL_ATTEMPT_MS = 60 * SECOND_MS;
/** Bytes of a workbook from which on it is not attached, because mail servers refuse large mails. */
const MOST_ATTACHED = 5_000_000;
/** If our clock is this many ticks behind the database's, the next report is planned a day ahead. */
const PLANNED_AHEAD = 100;

/** Next tick after `afterMs` (database clock); node-cron only computes ticks after our own clock. */
export function nextReportMs(expression: string, timezone: string, afterMs: number): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ahead = task.getNextRuns(PLANNED_AHEAD).map((date) => date.getTime());
  void task.destroy();
  return ahead.find((ms) => ms > afterMs) ?? afterMs + DAY_MS;
}

/** Some file systems forbid colons in file names. */
const fileNameOf = ({ accountId, today }: Pick<Report, 'accountId' | 'today'>): string =>
  `safety-report-${accountId.replaceAll(':', '_')}-${today}`;

async function writeFileOf<T>(file: () => Promise<T>): Promise<T> {
  try {
    return await file();
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'usage_invalid') throw error;
    throw new SafetySyncError('report_unwritable', error.message, { cause: error });
  }
}

/** undefined: it is larger. */
async function collect(content: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size >= most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type ReportFile = Omit<Workbook, 'content'> & { readonly isMailed: boolean };

async function makeWorkbook(snapshot: Snapshot, { name, path, isMailed }: ReportFile): Promise<Workbook> {
  if (path === undefined) return { name, path, content: await collect(toWorkbook(snapshot), MOST_ATTACHED) };
  await writeFileOf(() => writeWorkbook(snapshot, path));
  const content = isMailed ? await collect(createReadStream(path), MOST_ATTACHED) : undefined;
  return { name, path, content };
}

export function createScheduledReport(app: App, config: ReportConfig): ReportDestination {
  const { connection, clock, owner } = app;
  const { recordUrls, notifications } = app.config;
  const { mail: sender } = notifications;
  const accounts = new Map(app.accounts.map((account) => [account.id, account]));
  const timezoneOf = (accountId: string): string =>
    accounts.get(accountId)?.config.schedule.timezone ?? 'UTC';

  /** Writes the file first and mails last, because writing twice is harmless and mailing twice is not. */
  async function create({ id, log, config: own }: Account, signal: AbortSignal): Promise<void> {
    const { reportTitle, equipmentTypes, reportEmailTo = config.emailTo } = own;
    const mail =
      sender === undefined || reportEmailTo.length === 0 ? undefined : createMail(sender, reportEmailTo);
    // Only other accounts have recipients.
    if (config.folder === undefined && mail === undefined) return;
    const startedMs = clock.monotonicMs();
    const pathOf = (name: string) => (config.folder === undefined ? undefined : join(config.folder, name));
    let workbook: Workbook | undefined;
    const report = await readReport(connection, id, {
      equipmentTypes,
      recordUrls,
      async also(snapshot) {
        if (!isAnythingRead(snapshot.report)) return;
        const name = `${fileNameOf(snapshot.report)}.xlsx`;
        workbook = await makeWorkbook(snapshot, { name, path: pathOf(name), isMailed: mail !== undefined });
      },
    });
    const isAlong = workbook !== undefined && (workbook.path ?? workbook.content) !== undefined;
    const along = isAlong ? { xlsx: workbook?.name } : {};
    const page = renderReport(report, { title: reportTitle, along });
    const filename = `${fileNameOf(report)}.html`;
    const path = pathOf(filename);
    if (path !== undefined) await writeFileOf(() => writeWholeFile(path, page));
    if (mail !== undefined) {
      const title = `Safety report: ${reportTitle ?? id}, ${formatDay(report.today)}`;
      const signature = `safety-sync ${VERSION}, account ${id}, ${owner}`;
      const shown = showReport(report, along);
      const message = toReportMail({ title, report: shown, filename, page, workbook, signature });
      const problem = await deliver({ channel: mail, message, signal, attemptMs: MAIL_ATTEMPT_MS });
      if (problem !== null) log.warn(`${problem}; the others get the report`);
    }
    const where = [path === undefined ? '' : `written to ${path}`, mail === undefined ? '' : 'mailed'];
    const tookMs = clock.monotonicMs() - startedMs;
    log.info(
      { path, duration_ms: Math.round(tookMs) },
      `the report was ${where.filter((text) => text !== '').join(' and ')} in ${formatDuration(tookMs)}`,
    );
  }

  return {
    channel: 'report',
    claimMs: 10 * MINUTE_MS,
    delays: { firstMs: 5 * MINUTE_MS, mostMs: HOUR_MS },
    plan(rows, nowMs) {
      const detailOf = (accountId: string): string => `${config.cron} ${timezoneOf(accountId)}`;
      // A plan of another schedule is replaced.
      const planned = rows.filter(
        ({ accountId, channel, detail }) => channel === 'report' && detail === detailOf(accountId),
      );
      const known = new Set(planned.map(({ accountId }) => accountId));
      return {
        channel: 'report',
        begun: app.accounts
          .filter(({ id }) => !known.has(id))
          .map(({ id }) => ({
            accountId: id,
            event: 'report',
            subject: '',
            channel: 'report',
            code: null,
            detail: detailOf(id),
            dueMs: nextReportMs(config.cron, timezoneOf(id), nowMs),
          })),
        resumed: [],
        ended: [],
        dropped: [],
        due: planned.filter(({ dueMs }) => dueMs !== null && dueMs <= nowMs).map((row) => [row]),
      };
    },
    async send([{ accountId }], signal) {
      const account = accounts.get(accountId);
      if (account !== undefined) await create(account, signal);
    },
    onFailed({ code, message, advice }, [{ accountId }]) {
      const text = `the report: ${code}: ${message}; trying again. ${advice}`;
      accounts.get(accountId)?.log.error({ error_code: code }, text);
      return code;
    },
    nextMs: ({ accountId }, afterMs) => nextReportMs(config.cron, timezoneOf(accountId), afterMs),
  };
}
