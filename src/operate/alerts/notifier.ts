/**
 * Sends alerts when a problem begins and when it ends. Every few seconds a worker compares the list of problems with the rows of
 * `safety_sync.outbox`; the one that gets the lock sends what is due and records it.
 * While the database is away nothing can be recorded: each worker then sends its own alert, and its end.
 */
import { type AccountConfig, tokenSourceOf } from '../../config/account-config.ts';
import type { NotificationConfig } from '../../config/notification-config.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toDatabaseError, toKnownError } from '../../engine/database/database-error.ts';
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import { backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { oneAtATime } from '../../shared/one-at-a-time.ts';
import type { Redact } from '../../shared/redact.ts';
import { MINUTE_MS, SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { AlertsStatus } from '../status/facts.ts';
import { areAccountsRead, type Status } from '../status/status.ts';
import { type Channel, deliver } from './channel.ts';
import { type MessageContext, toMessage } from './message.ts';
import {
  type AlertRow,
  deleteRows,
  failedReportsOf,
  isAlert,
  type OutboxRow,
  readOutbox,
  saveRows,
  takeTurn,
  textOfKey,
} from './outbox.ts';
import { planAlerts } from './plan-alerts.ts';

/** Makes the reports that are due; never rejects. */
export interface ScheduledReport {
  look(nowMs: number, signal: AbortSignal): Promise<void>;
}

interface NotifierOptions {
  readonly accounts: readonly {
    readonly id: string;
    readonly config: Pick<AccountConfig, 'service' | 'reportingTimezone'>;
  }[];
  readonly config: { readonly notifications: Pick<NotificationConfig, 'alertAfterMinutes'> };
  readonly db: Queryable;
  /** Has the current URL. */
  readonly warehouse: { readonly url: string };
  readonly log: Logger;
  readonly owner: string;
  readonly redact: Redact;
  readonly databaseOutage: OutageLog;
  readonly channels: readonly Channel[];
  /** undefined: REPORT_CRON is not set, so recorded report failures are outdated and ignored. */
  readonly report?: ScheduledReport | undefined;
  readonly status: () => Status;
}

/** Delays after failed attempts. */
const DELAYS = { firstMs: 30 * SECOND_MS, mostMs: 15 * MINUTE_MS };
const STOP_TIMEOUT_MS = 5 * SECOND_MS;

export type Notifier = ReturnType<typeof createNotifier>;

export function createNotifier(options: NotifierOptions) {
  const { accounts, config, db, warehouse, log, owner, redact } = options;
  const { databaseOutage, channels, report, status } = options;
  const accountIds = accounts.map(({ id }) => id);
  const afterMs = config.notifications.alertAfterMinutes * MINUTE_MS;
  const context: MessageContext = {
    owner,
    accounts: new Map(
      accounts.map(({ id, config: own }) => [
        id,
        { timezone: own.reportingTimezone ?? 'UTC', tokenSource: tokenSourceOf(own) },
      ]),
    ),
  };
  const stopping = new AbortController();
  let alerts: readonly AlertRow[] = [];
  let failedReports: AlertsStatus['failedReports'] = [];
  /** Why nothing can be recorded; null: it can, as far as is known. */
  let unrecorded: string | null = null;
  /** The outage of the database, one row for each channel. */
  let away: AlertRow[] = [];

  /** The rows after one message about them; null: it was sent, and told the end of the alert. */
  async function send(channel: Channel, rows: readonly AlertRow[], nowMs: number) {
    const { name } = channel;
    const { subject, text, html } = toMessage(rows, context);
    // The text contains no secrets by design; redacted all the same.
    const message = { subject: redact(subject), text: redact(text), html: redact(html) };
    try {
      const refused = await deliver({ channel, message, signal: stopping.signal });
      log.info({ channel: name, alerts: rows.length }, `sent by ${name}: ${message.subject}`);
      if (refused !== null) log.warn({ channel: name }, `${refused}; the others get the alert`);
      return rows.map((row) =>
        row.endedMs === null ? { ...row, sentMs: nowMs, dueMs: null, tries: 0, problem: null } : null,
      );
    } catch (caught) {
      const { code, message: text, advice, cause } = toKnownError(caught);
      log[rows.some(({ tries }) => tries > 0) ? 'debug' : 'error'](
        { channel: name, alerts: rows.length, error_code: code },
        `an alert was not accepted by ${text}; retrying. ${advice}`,
      );
      const problem = redact(cause instanceof Error ? cause.message : text);
      return rows.map((row) => ({
        ...row,
        tries: row.tries + 1,
        problem,
        // Another worker sends at once what a worker that stops could not send.
        dueMs: nowMs + (stopping.signal.aborted ? 0 : backoff(row.tries + 1, DELAYS)),
      }));
    }
  }

  const planOf = (rows: readonly OutboxRow[], now: Status, { name }: Channel) =>
    planAlerts(
      rows.filter(isAlert).filter(({ channel }) => channel === name),
      now,
      { channel: name, afterMs },
    );

  /** Each change is recorded at once: a worker that dies has sent at most one message that another one sends again. */
  async function sendDue(one: Queryable, now: Status): Promise<void> {
    for (const channel of channels) {
      const { changed, dropped, due } = planOf(await readOutbox(one, accountIds), now, channel);
      await saveRows(one, changed);
      await deleteRows(one, dropped);
      if (due.length === 0) continue;
      const sent = await send(channel, due, now.nowMs);
      await saveRows(
        one,
        sent.filter((row) => row !== null),
      );
      await deleteRows(
        one,
        due.filter((_, at) => sent[at] === null),
      );
    }
  }

  async function lookAt(now: Status): Promise<void> {
    let rows = await readOutbox(db, accountIds);
    const isQuiet = channels
      .map((channel) => planOf(rows, now, channel))
      .every(({ changed, dropped, due }) => changed.length + dropped.length + due.length === 0);
    if (!isQuiet) {
      await takeTurn(warehouse.url, 'alerts', (one) => sendDue(one, now));
      rows = await readOutbox(db, accountIds);
    }
    // A row of a channel that is configured no more is not sent and never ends.
    alerts = rows.filter(isAlert).filter((row) => channels.some(({ name }) => name === row.channel));
    failedReports = report === undefined ? [] : failedReportsOf(rows);
  }

  /** From memory: `code` null says that the database is back. */
  async function tellAway(now: Status): Promise<void> {
    const { nowMs } = now;
    const problem = now.problems.find(({ kind }) => kind === 'database_away');
    if (problem !== undefined && away.length === 0)
      away = channels.map(({ name: channel }) => {
        const beganMs = problem.sinceMs ?? nowMs;
        const { code } = problem;
        return {
          ...{ accountId: accountIds[0] ?? '', event: 'database_away', subject: '', channel, code },
          ...{ detail: null, beganMs, endedMs: null, sentMs: null, dueMs: beganMs + afterMs },
          ...{ tries: 0, problem: null },
        };
      });
    if (problem === undefined)
      away = away
        .filter(({ sentMs, tries }) => sentMs !== null || tries > 0)
        .map((row) => (row.endedMs === null ? { ...row, endedMs: nowMs, dueMs: nowMs } : row));
    const told = away.map(async (row) => {
      const channel = channels.find(({ name }) => name === row.channel);
      if (channel === undefined || row.dueMs === null || row.dueMs > nowMs) return row;
      return (await send(channel, [row], nowMs))[0] ?? null;
    });
    away = (await Promise.all(told)).filter((row) => row !== null);
  }

  function recordFailure(error: SafetySyncError): void {
    const { code, message, advice } = error;
    const isAway = dependencyOf(error) === 'database';
    // The monitor only reads, so it does not detect a read-only server.
    if (isAway) databaseOutage.recordFailure(error);
    log[isAway || unrecorded !== null ? 'debug' : 'error'](
      { error_code: code },
      `no alerts are sent, because they cannot be recorded (${code}: ${message}). ${advice}`,
    );
    unrecorded = isAway ? null : `they cannot be recorded in the database (${code})`;
  }

  /** Compares once and sends what is due; never rejects. */
  async function look(): Promise<void> {
    const now = status();
    await tellAway(now);
    if (!now.database.isUp || !areAccountsRead(now.database)) return;
    try {
      await lookAt(now);
      unrecorded = null;
    } catch (error) {
      recordFailure(toDatabaseError(error));
    }
  }

  /** Alerts and reports apart, because a report takes longer. */
  const works = [
    ...(channels.length > 0 || report !== undefined ? [oneAtATime(look)] : []),
    ...(report === undefined ? [] : [oneAtATime(() => report.look(status().nowMs, stopping.signal))]),
  ];
  const timers: NodeJS.Timeout[] = [];

  return {
    /** The alerts of the status: open alerts, and the state of each channel. */
    get status(): AlertsStatus {
      return {
        open: new Set([...alerts, ...away].filter(({ endedMs }) => endedMs === null).map(textOfKey)).size,
        failedReports,
        channels: channels.map(({ name }) => {
          const waiting = [...alerts, ...away].filter(({ channel, tries }) => channel === name && tries > 0);
          return {
            name,
            waiting: waiting.length,
            problem: unrecorded ?? waiting[0]?.problem ?? null,
          };
        }),
      };
    },
    look,
    start(everyMs: number) {
      for (const work of works) {
        timers.push(setInterval(() => void work(), everyMs));
        void work();
      }
    },
    /** Waits a few seconds for the message that is being sent. */
    async stop() {
      for (const timer of timers) clearInterval(timer);
      const last = Promise.all(works.map((work) => work.idle()));
      await withTimeout(last, STOP_TIMEOUT_MS);
      stopping.abort();
      await withTimeout(last, SECOND_MS);
    },
  };
}
