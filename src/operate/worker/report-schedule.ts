/**
 * Creates safety reports on schedule: when one is due, one of several workers renders, writes and mails it. The plan is
 * stored in `safety_sync.report_plans`, so a report that was due while no worker ran is created later, once.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import cron from 'node-cron';
import { type Channel, tell } from '../alerts/channel.ts';
import type { ReportConfig } from '../../config/telling-config.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { toKnownError } from '../../engine/database/database-error.ts';
import {
  claimReport,
  recordReportFailed,
  recordReportMade,
  readReportPlans,
  type ReportPlan,
  writeReportPlan,
} from '../alerts/report-plans.ts';
import { isAnythingRead, readReport, type Report } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { showReport } from '../../pages/report/shown-report.ts';
import { type Lists, listsOf, toWorkbook, writeWorkbook } from '../../pages/report/take-along.ts';
import type { RecordUrls } from '../../shared/record-urls.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatDay } from '../../pages/words.ts';
import { dependencyOf } from '../health/outage-log.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, withTimeout } from '../../shared/time.ts';
import { type AccountsRead, databaseOffsetMs } from '../status/read-accounts.ts';
import { toReportMail, type Workbook } from './report-mail.ts';

interface ReportScheduleOptions {
  readonly config: Pick<ReportConfig, 'cron' | 'folder'>;
  readonly accounts: readonly ReportedAccount[];
  readonly connection: Connection;
  readonly recordUrls: RecordUrls;
  /** The last read of the warehouse, and why the warehouse cannot be read now. */
  readonly latest: () => { readonly seen: AccountsRead | null; readonly problem: string | null };
  readonly clock: Clock;
  readonly version: string;
  /** Host and process id. */
  readonly owner: string;
}

interface ReportedAccount {
  readonly id: string;
  /** Time zone of the account's schedules. */
  readonly timezone: string;
  /** The organisation in the title; null: the account's name is shown. */
  readonly reportTitle: string | null;
  readonly equipmentTypes: readonly string[];
  /** undefined: the report is not mailed. */
  readonly mail: Channel | undefined;
  readonly log: Logger;
}

export interface ReportSchedule {
  /** Creates the reports that are due; never rejects. */
  look(): Promise<void>;
  start(): void;
  /** Waits a few seconds for the report that is being created. */
  stop(): Promise<void>;
}

const EVERY_MS = 20 * SECOND_MS;
/** A claim expires after this time, which is longer than creating and mailing a report takes. */
const CLAIM_MS = 10 * MINUTE_MS;
/** Longer than for an alert, because mail servers scan attachments. */
const MAIL_ATTEMPT_MS = 60 * SECOND_MS;
/** Bytes of a workbook from which on it is not attached, because mail servers refuse large mails. */
const MOST_ATTACHED = 5_000_000;
const FIRST_AGAIN_MS = 5 * MINUTE_MS;
const STOP_TIMEOUT_MS = 5 * SECOND_MS;
/** If our clock is this many ticks behind the database's, the next report is planned a day ahead. */
const PLANNED_AHEAD = 100;

/** Next tick after `afterMs` (database clock); node-cron only computes ticks after our own clock. */
export function nextReportMs(
  { cron: expression }: Pick<ReportConfig, 'cron'>,
  timezone: string,
  afterMs: number,
): number {
  const task = cron.createTask(expression, () => undefined, { timezone });
  const ahead = task.getNextRuns(PLANNED_AHEAD).map((date) => date.getTime());
  void task.destroy();
  return ahead.find((ms) => ms > afterMs) ?? afterMs + DAY_MS;
}

/** Some file systems forbid colons in file names. */
const fileNameOf = ({ accountId, today }: Pick<Report, 'accountId' | 'today'>): string =>
  `safety-report-${accountId.replaceAll(':', '_')}-${today}`;

async function write<T>(file: () => Promise<T>): Promise<T> {
  try {
    return await file();
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'usage_invalid') throw error;
    throw new SafetySyncError('report_unwritable', error.message, { cause: error });
  }
}

/** undefined: it is larger. */
async function collect(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size >= most) return undefined;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

interface WorkbookPlace {
  readonly name: string;
  /** undefined: it is written to no file. */
  readonly path: string | undefined;
  readonly isMailed: boolean;
}

async function makeWorkbook(lists: Lists, { name, path, isMailed }: WorkbookPlace): Promise<Workbook> {
  if (path === undefined) return { name, path, content: await collect(toWorkbook(lists), MOST_ATTACHED) };
  await write(() => writeWorkbook(lists, path));
  const content = isMailed ? await collect(createReadStream(path), MOST_ATTACHED) : undefined;
  return { name, path, content };
}

export function createReportSchedule(options: ReportScheduleOptions): ReportSchedule {
  const { config, accounts, connection, recordUrls, clock, owner, version } = options;
  const { db } = connection;
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let making: Promise<void> | undefined;
  /** The plan could not be read, and that was logged. */
  let isUnreadable = false;

  const nowMs = (): number => clock.now() + databaseOffsetMs(options.latest().seen);

  /** Writes the file first and mails last, because writing twice is harmless and mailing twice is not. */
  async function make({ id, log, reportTitle, equipmentTypes, mail }: ReportedAccount): Promise<void> {
    const startedMs = clock.monotonicMs();
    const pathOf = (name: string) => (config.folder === undefined ? undefined : join(config.folder, name));
    let workbook: Workbook | undefined;
    const report = await readReport(connection, id, {
      equipmentTypes,
      async also(db, read) {
        if (!isAnythingRead(read)) return;
        const lists = listsOf(db, read, recordUrls);
        const name = `${fileNameOf(read)}.xlsx`;
        workbook = await makeWorkbook(lists, { name, path: pathOf(name), isMailed: mail !== undefined });
      },
    });
    const isAlong = workbook !== undefined && (workbook.path ?? workbook.content) !== undefined;
    const shown = { recordUrls, along: isAlong ? { xlsx: workbook?.name } : {} };
    const page = renderReport(report, { title: reportTitle, ...shown });
    const filename = `${fileNameOf(report)}.html`;
    const path = pathOf(filename);
    if (path !== undefined) await write(() => writeWholeFile(path, page));
    if (mail !== undefined) {
      const title = `Safety report: ${reportTitle ?? id}, ${formatDay(report.today)}`;
      const signature = `safety-sync ${version}, account ${id}, ${owner}`;
      const message = toReportMail({
        title,
        report: showReport(report, shown),
        filename,
        page,
        workbook,
        signature,
      });
      await tell({ channel: mail, message, signal: stopping.signal, attemptMs: MAIL_ATTEMPT_MS });
    }
    const where = [
      ...(path === undefined ? [] : [`written to ${path}`]),
      ...(mail === undefined ? [] : ['mailed']),
    ];
    const tookMs = clock.monotonicMs() - startedMs;
    log.info(
      { path, duration_ms: Math.round(tookMs) },
      `the report was ${where.join(' and ')} in ${formatDuration(tookMs)}`,
    );
  }

  async function makeIfDue(account: ReportedAccount, { dueMs, tries }: ReportPlan): Promise<void> {
    const claim = { accountId: account.id, owner, untilMs: nowMs() + CLAIM_MS };
    if (!(await claimReport(db, { ...claim, nowMs: nowMs() }))) return;
    try {
      await make(account);
    } catch (caught) {
      const { code, message, advice } = toKnownError(caught);
      account.log.error({ error_code: code }, `the report: ${code}: ${message}; trying again. ${advice}`);
      // A worker that stops releases its claim, so that another one continues at once.
      const againMs = stopping.signal.aborted ? 0 : Math.min(HOUR_MS, FIRST_AGAIN_MS * 2 ** tries);
      await recordReportFailed(db, { ...claim, code, againMs: nowMs() + againMs });
      return;
    }
    const nextMs = nextReportMs(config, account.timezone, Math.max(nowMs(), dueMs));
    await recordReportMade(db, { ...claim, nowMs: nowMs(), nextMs });
  }

  async function makeWhatIsDue(): Promise<void> {
    const plans = await readReportPlans(
      db,
      accounts.map(({ id }) => id),
    );
    for (const account of accounts) {
      if (stopping.signal.aborted) return;
      const { id: accountId, timezone } = account;
      const plan = plans.get(accountId);
      const schedule = `${config.cron} ${timezone}`;
      if (plan?.schedule !== schedule) {
        const dueMs = nextReportMs(config, timezone, nowMs());
        await writeReportPlan(db, { accountId, schedule, dueMs });
      } else if (plan.dueMs <= nowMs()) await makeIfDue(account, plan);
    }
  }

  async function look(): Promise<void> {
    const { seen, problem } = options.latest();
    if (problem !== null || seen === null || seen.pendingMigrations > 0) return;
    try {
      await makeWhatIsDue();
      isUnreadable = false;
    } catch (caught) {
      const error = toKnownError(caught);
      const { code, message, advice } = error;
      const isAway = dependencyOf(error) === 'database';
      accounts[0]?.log[isAway || isUnreadable ? 'debug' : 'error'](
        { error_code: code },
        `no report is created, because its plan cannot be read (${code}: ${message}). ${advice}`,
      );
      isUnreadable ||= !isAway;
    }
  }

  return {
    look,
    start() {
      const again = async (): Promise<void> => {
        making = look();
        await making;
        if (!stopping.signal.aborted) timer = setTimeout(() => void again(), EVERY_MS);
      };
      void again();
    },
    async stop() {
      clearTimeout(timer);
      if (making !== undefined) await withTimeout(making, STOP_TIMEOUT_MS);
      stopping.abort();
      clearTimeout(timer);
      if (making !== undefined) await withTimeout(making, SECOND_MS);
    },
  };
}
