/**
 * Sends alerts when a problem begins and when it ends. Every few seconds a worker compares the list of problems with the rows of
 * `safety_sync.outbox`; the one that gets the lock sends what is due and records it.
 * While the database is away nothing can be recorded: each worker then sends its own alert, and its end.
 */
import type { App } from '../../app.ts';
import type { MailConfig, NotificationConfig } from '../../config/notification-config.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toDatabaseError, toKnownError } from '../../engine/database/database-error.ts';
import { backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS, SECOND_MS, toIso } from '../../shared/time.ts';
import { isOutage } from '../status/facts.ts';
import type { Problem } from '../status/problem-words.ts';
import { areAccountsRead, type Status } from '../status/status.ts';
import { type Channel, deliver } from '../alerts/channel.ts';
import { createMail } from '../alerts/mail.ts';
import { toMessage } from '../alerts/message.ts';
import {
  type AlertRow,
  failedReportsOf,
  isAlert,
  isOver,
  readOutbox,
  takeTurn,
  textOfKey,
  writeRows,
} from '../alerts/outbox.ts';
import { alertsOf, planAlerts } from '../alerts/plan-alerts.ts';
import { createWebhook } from '../alerts/webhook.ts';

/** Channels for alerts. Without any, no alerts are sent. */
export function configuredChannels(config: NotificationConfig): Channel[] {
  const { webhookUrl, mail, alertEmailTo: to } = config;
  const mailed = (server: MailConfig | undefined) =>
    server === undefined || to.length === 0 ? [] : [createMail(server, to)];
  return [...(webhookUrl === undefined ? [] : [createWebhook(webhookUrl)]), ...mailed(mail)];
}

interface NotifierOptions {
  readonly app: Pick<
    App,
    'accounts' | 'accountIds' | 'config' | 'db' | 'warehouse' | 'log' | 'owner' | 'redact'
  >;
  readonly channels: readonly Channel[];
  readonly status: () => Status;
  /** Reports that the database cannot be used. */
  readonly onAway: (error: SafetySyncError) => void;
}

/** Delays after failed attempts. */
const DELAYS = { firstMs: 30 * SECOND_MS, mostMs: 15 * MINUTE_MS };

export type Notifier = ReturnType<typeof createNotifier>;

export function createNotifier({ app, channels, status, onAway }: NotifierOptions) {
  const { accountIds, db, warehouse, log, redact } = app;
  const { alertAfterMinutes, report } = app.config.notifications;
  let recorded: readonly AlertRow[] = [];
  let failedReports: ReadonlyMap<string, string> = new Map();
  /** The outage of the database, by channel. */
  const remembered = new Map<string, AlertRow>();

  /** The rows after one message about them. */
  async function send(channel: Channel, rows: readonly AlertRow[], nowMs: number, signal: AbortSignal) {
    const { name } = channel;
    const { subject, text } = toMessage(rows, app);
    // The text contains no secrets by design; redacted all the same.
    const message = { subject: redact(subject), text: redact(text) };
    try {
      const refused = await deliver(channel, message, signal);
      log.info({ channel: name, alerts: rows.length }, `sent by ${name}: ${message.subject}`);
      if (refused !== null) log.warn({ channel: name }, `${refused}; the others get the alert`);
      return rows.map((row) => ({ ...row, sent_at: toIso(nowMs), due_at: null, tries: 0, problem: null }));
    } catch (caught) {
      const { code, message: failure, advice, cause } = toKnownError(caught);
      log[rows.some(({ tries }) => tries > 0) ? 'debug' : 'error'](
        { channel: name, alerts: rows.length, error_code: code },
        `an alert was not accepted by ${failure}; retrying. ${advice}`,
      );
      const problem = redact(cause instanceof Error ? cause.message : failure);
      // Another worker sends at once what a worker that stops could not send.
      const delayOf = (tries: number): number => (signal.aborted ? 0 : backoff(tries, DELAYS));
      return rows.map((row) => {
        const tries = row.tries + 1;
        return { ...row, tries, problem, due_at: toIso(nowMs + delayOf(tries)) };
      });
    }
  }

  const afterMs = alertAfterMinutes * MINUTE_MS;
  /** Each change is recorded at once: a worker that dies has sent at most one message that another one sends again. */
  async function tell(rows: Rows, told: readonly Problem[], now: Status, signal: AbortSignal): Promise<void> {
    for (const channel of channels) {
      const { changed, due } = planAlerts({ rows: await rows.read(), told, now, channel, afterMs });
      await rows.write(changed);
      if (due.length > 0) await rows.write(await send(channel, due, now.nowMs, signal));
    }
  }

  const rowsOf = (one: Queryable) => ({
    read: async () => (await readOutbox(one, accountIds)).filter(isAlert),
    write: (rows: readonly AlertRow[]) => writeRows(one, rows),
  });
  type Rows = ReturnType<typeof rowsOf>;

  /** While the database is away. */
  const memory: Rows = {
    read: () => Promise.resolve([...remembered.values()]),
    write(rows) {
      for (const row of rows) {
        const key = `${row.channel}\n${textOfKey(row)}`;
        if (isOver(row)) remembered.delete(key);
        else remembered.set(key, row);
      }
      return Promise.resolve();
    },
  };

  async function tellRecorded(now: Status, signal: AbortSignal): Promise<void> {
    const told = now.accounts.flatMap(({ problems }) => alertsOf(problems));
    let rows = await readOutbox(db, accountIds);
    const isQuiet = channels
      .map((channel) => planAlerts({ rows: rows.filter(isAlert), told, now, channel, afterMs }))
      .every(({ changed, due }) => changed.length + due.length === 0);
    if (!isQuiet) {
      await takeTurn(warehouse.url, 'alerts', (one) => tell(rowsOf(one), told, now, signal));
      rows = await readOutbox(db, accountIds);
    }
    recorded = rows.filter(isAlert);
    // Without REPORT_CRON recorded failures are outdated.
    failedReports = report === undefined ? new Map() : failedReportsOf(rows);
  }

  return {
    /** The alerts of the status. */
    get status() {
      const failed = [...recorded, ...remembered.values()].filter(({ tries }) => tries > 0);
      return {
        failedReports,
        channels: channels.map(({ name }) => ({
          name,
          problem: failed.find(({ channel }) => channel === name)?.problem ?? null,
        })),
      };
    },
    /** Compares once and sends what is due; never rejects. */
    look: async (signal: AbortSignal): Promise<void> => {
      const now = status();
      const away = now.problems.filter(({ kind }) => kind === 'database_away');
      await tell(memory, away, now, signal);
      if (!now.database.isUp || !areAccountsRead(now)) return;
      try {
        await tellRecorded(now, signal);
      } catch (caught) {
        const error = toDatabaseError(caught);
        // The monitor only reads, so it does not detect a read-only server.
        if (isOutage(error)) onAway(error);
        log.debug(
          { error_code: error.code },
          `no alerts are sent, because they cannot be recorded: ${error.message}`,
        );
      }
    },
  };
}
