/**
 * Sends alerts when a problem begins and when it ends, and scheduled reports when they are due. Every few seconds it compares
 * the monitor's last read with the rows of `safety_sync.outbox`, records the changes there, and sends what is due. It runs
 * apart from the worker's other tasks, because a webhook or mail server may be slow or unreachable.
 * While the database is away or refuses the records, nothing can be recorded. Each worker that cannot use the database then
 * sends its own alert, because a network failure may affect one worker alone. When the database is back, the workers record
 * their alerts, and one of them sends the resolution.
 */
import { type AccountConfig, type OffReasons, tokenSourceOf } from '../../config/account-config.ts';
import type { NotificationConfig } from '../../config/notification-config.ts';
import {
  type AlertRow,
  beginRows,
  correctTimes,
  endAlerts,
  failedReportsOf,
  isAlert,
  type OutboxRow,
  readOutbox,
  resumeAlerts,
  textOfKey,
} from './outbox.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { readLastingProblems } from './lasting-problems.ts';
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { type AccountsRead, databaseOffsetMs } from '../status/read-accounts.ts';
import type { AlertsStatus } from '../status/status.ts';
import { type AlertDestinationOptions, createAlertDestination } from './alert-destination.ts';
import type { Channel } from './channel.ts';
import { conditionsOf, lastSuccessOf } from './conditions.ts';
import { createSender, type Destination, type SenderOptions } from './sender.ts';
import { type ChannelPlan, planAlerts } from './plan-alerts.ts';

export interface ReportDestination extends Destination {
  plan(rows: readonly OutboxRow[], nowMs: number): ChannelPlan;
}

interface NotifierOptions extends Omit<SenderOptions, 'nowMs'>, AlertDestinationOptions {
  /** Channels of alerts. */
  readonly channels: readonly Channel[];
  /** undefined: REPORT_CRON is not set, so recorded report failures are outdated and ignored. */
  readonly report?: ReportDestination | undefined;
  readonly accounts: readonly {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly config: Pick<AccountConfig, 'service' | 'reportingTimezone'>;
  }[];
  readonly config: {
    readonly freshnessBudgetMinutes: number;
    readonly notifications: Pick<NotificationConfig, 'alertAfterMinutes'>;
  };
  /** The last read of the warehouse, and why the warehouse cannot be read now. */
  readonly monitor: {
    readonly latest: { readonly accountsRead: AccountsRead | null; readonly problem: string | null };
  };
  readonly databaseOutage: Pick<OutageLog, 'current' | 'recordFailure'>;
}

/** Since when this worker cannot use the warehouse, by its own clock, and why. */
type Away = Pick<AlertRow, 'code' | 'advice'> & { readonly sinceMs: number };

/** A warehouse may lack migrations for this long before an alert is sent. */
const MIGRATING_MS = 5 * MINUTE_MS;
/** A larger difference between the database's clock and the monotonic one means that the former was set. */
const CLOCK_SET_MS = MINUTE_MS;
/** Looking takes at most 1/20 of the time, because its cost grows with the number of accounts. */
const LOOKING_SHARE = 20;
const MOST_REST_MS = 60 * SECOND_MS;

export type Notifier = ReturnType<typeof createNotifier>;

export function createNotifier(options: NotifierOptions) {
  const { accounts, config, report, clock, db, log, owner, monitor } = options;
  const { freshnessBudgetMinutes } = config;
  const afterMs = config.notifications.alertAfterMinutes * MINUTE_MS;
  const ids = accounts.map(({ id }) => id);
  /** By the monotonic clock since the last read, because our own clock may be set in between. */
  const nowMs = (): number => {
    const { accountsRead } = monitor.latest;
    if (accountsRead === null) return clock.now();
    return accountsRead.databaseNowMs + clock.monotonicMs() - accountsRead.readMonotonicMs;
  };
  const context = {
    owner,
    accounts: new Map(
      accounts.map(({ id, config }) => [
        id,
        { timezone: config.reportingTimezone ?? 'UTC', tokenSource: tokenSourceOf(config) },
      ]),
    ),
  };
  const channels = options.channels.map(({ name }) => name);
  const offReasons = new Map(accounts.map((one) => [one.id, one.offReasons]));
  const isOff = ({ accountId, subject }: Pick<AlertRow, 'accountId' | 'subject'>): boolean =>
    offReasons.get(accountId)?.[subject.replace(/^reconcile of /, '')] === 'not scheduled';
  const destinations: readonly Destination[] = [
    ...options.channels.map((channel) => createAlertDestination(channel, context, options)),
    ...(report === undefined ? [] : [report]),
  ];
  const senders = new Map(destinations.map((one) => [one.channel, createSender(one, { ...options, nowMs })]));
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let awaySinceMs: number | undefined;
  let alerts: readonly AlertRow[] = [];
  let failedReports: AlertsStatus['failedReports'] = [];
  /** The database's time less the monotonic one at the last look; undefined: there was none. */
  let databaseClockMs: number | undefined;
  /** Why nothing can be recorded; null: it can, as far as is known. */
  let unreadable: string | null = null;

  async function record({ begun, resumed, ended, dropped }: ChannelPlan, asOfMs: number): Promise<void> {
    const at = { asOfMs, nowMs: nowMs() };
    await beginRows(db, begun, at);
    await resumeAlerts(db, resumed, at);
    await endAlerts(db, ended, at);
    // Whether a stream that was switched off would succeed is unknown.
    await endAlerts(db, dropped, { ...at, isSilent: true });
  }

  /** The worker cannot use the warehouse: an alert is sent after `patienceMs`. */
  function recordAway({ code, advice, sinceMs }: Away, patienceMs: number): void {
    awaySinceMs ??= sinceMs;
    if (clock.now() - awaySinceMs >= patienceMs) sendOutage({ sinceMs: awaySinceMs, code, advice });
  }

  /** Logged, and sent as an unusable database, because this failure cannot be recorded as an alert. */
  function recordUnreadable(error: SafetySyncError): void {
    const { code, message, advice } = error;
    const isAway = dependencyOf(error) === 'database';
    log[isAway || unreadable !== null ? 'debug' : 'error'](
      { error_code: code },
      `no alerts and reports are sent, because they cannot be recorded (${code}: ${message}). ${advice}`,
    );
    // The monitor only reads, so it does not detect a read-only server.
    if (isAway) options.databaseOutage.recordFailure(error);
    else {
      unreadable = `they cannot be recorded in the database (${code})`;
      recordAway({ code, advice, sinceMs: clock.now() }, afterMs);
    }
  }

  const failedReportsIn = (rows: readonly OutboxRow[]) => (report === undefined ? [] : failedReportsOf(rows));

  /** Once at the start, and whenever the database's clock was set. */
  async function correctRows({ databaseNowMs, readMonotonicMs }: AccountsRead): Promise<void> {
    const clockMs = databaseNowMs - readMonotonicMs;
    if (databaseClockMs !== undefined && Math.abs(clockMs - databaseClockMs) < CLOCK_SET_MS) return;
    await correctTimes(db, ids, databaseNowMs);
    databaseClockMs = clockMs;
  }

  async function lookAt(accountsRead: AccountsRead): Promise<void> {
    await correctRows(accountsRead);
    const found = await readOutbox(db, ids);
    const conditions = conditionsOf({
      accounts,
      accountsRead,
      lastingProblems: channels.length === 0 ? [] : await readLastingProblems(db, ids),
      failedReports: failedReportsIn(found),
      freshnessBudgetMinutes,
    });
    const plan = (rows: readonly OutboxRow[]): ChannelPlan[] => [
      ...channels.map((name) =>
        planAlerts(name, {
          rows,
          conditions,
          lastSuccessMs: (accountId) => lastSuccessOf({ accounts, accountsRead }, accountId),
          isOff,
          nowMs: nowMs(),
          afterMs,
        }),
      ),
      ...(report === undefined ? [] : [report.plan(rows, nowMs())]),
    ];
    for (const one of plan(found)) await record(one, accountsRead.databaseNowMs);
    // Rows that were just recorded may be due at once.
    const rows = await readOutbox(db, ids);
    // A row of a channel that is configured no more is not sent and never ends.
    alerts = rows.filter(isAlert).filter(({ channel }) => channels.includes(channel));
    failedReports = failedReportsIn(rows);
    for (const one of plan(rows)) senders.get(one.channel)?.sendDue(one);
  }

  function sendOutage({ sinceMs, ...about }: Away): void {
    for (const channel of channels) {
      const row: AlertRow = {
        ...about,
        accountId: ids[0] ?? '',
        event: 'database_away',
        subject: '',
        channel,
        detail: owner,
        beganMs: sinceMs + databaseOffsetMs(monitor.latest.accountsRead),
        endedMs: null,
        sentMs: null,
        dueMs: null,
        tries: 0,
        problem: null,
      };
      senders.get(channel)?.sendOutage({ sinceMs, row });
    }
  }

  /** Compares once and starts sending what is due; never rejects. */
  async function look(): Promise<void> {
    const { accountsRead, problem } = monitor.latest;
    const isBehind = problem === null && accountsRead !== null && accountsRead.pendingMigrations > 0;
    if (problem !== null || isBehind) {
      const outage = options.databaseOutage.current;
      const code = isBehind ? 'database_not_migrated' : (outage?.code ?? 'database_error');
      const advice = isBehind ? undefined : outage?.advice;
      // A worker applies pending migrations when it starts.
      const patienceMs = isBehind ? Math.max(afterMs, MIGRATING_MS) : afterMs;
      recordAway({ code, advice, sinceMs: outage?.sinceMs ?? clock.now() }, patienceMs);
      return;
    }
    if (accountsRead === null) {
      awaySinceMs = undefined;
      return;
    }
    try {
      await lookAt(accountsRead);
      unreadable = null;
      awaySinceMs = undefined;
    } catch (error) {
      recordUnreadable(toDatabaseError(error));
    }
  }

  return {
    /** The alerts of the status: open alerts, and the state of each channel. */
    get status(): AlertsStatus {
      return {
        // An outage of the database has no row: only this worker's memory has it.
        open:
          new Set(alerts.filter(({ endedMs }) => endedMs === null).map(textOfKey)).size +
          (awaySinceMs === undefined ? 0 : 1),
        failedReports,
        channels: channels.map((name) => {
          // Includes alerts that other workers could not send.
          const waiting = alerts.filter(({ channel, tries }) => channel === name && tries > 0);
          return {
            name,
            waiting: waiting.length,
            problem: unreadable ?? senders.get(name)?.problem ?? waiting[0]?.problem ?? null,
          };
        }),
      };
    },
    look,
    /** Resolves when no message is being sent. */
    async idle() {
      await Promise.all([...senders.values()].map((sender) => sender.idle()));
    },
    start(everyMs: number) {
      const again = async (): Promise<void> => {
        const startedMs = clock.monotonicMs();
        await look();
        const shareMs = (clock.monotonicMs() - startedMs) * LOOKING_SHARE;
        const restMs = Math.max(everyMs, Math.min(shareMs, MOST_REST_MS));
        if (!isStopped) timer = setTimeout(() => void again(), restMs);
      };
      if (senders.size > 0) void again();
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await Promise.all([...senders.values()].map((sender) => sender.stop()));
    },
  };
}
