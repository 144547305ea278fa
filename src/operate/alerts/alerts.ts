/**
 * Sends alerts when a problem begins and when it ends. Every few seconds it compares the monitor's last read with the rows
 * of `safety_sync.alerts`, records the changes there, and sends the messages that are due. Alerts run apart from the
 * worker's other tasks, because a webhook or mail server may be slow or unreachable.
 *
 * While the database is away, nothing can be recorded. Each worker that cannot use the database then sends its own alert,
 * because a network failure may affect one worker alone. When the database is back, the workers record what they sent, and
 * one of them sends the resolution.
 */
import type { OffReasons } from '../../config/account-config.ts';
import {
  type AlertRow,
  beginAlerts,
  endAlerts,
  postponeAlerts,
  readAlerts,
  resumeAlerts,
  textOfKey,
} from './ledger.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { readOccasions } from './occasions.ts';
import { readFailedReports } from './report-plans.ts';
import { dependencyOf, type Outage } from '../health/outage-log.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { TokenPlace } from '../../shared/token-place.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { type AccountsRead, databaseOffsetMs } from '../status/read-accounts.ts';
import type { AlertsStatus } from '../status/status.ts';
import type { Channel } from './channel.ts';
import { conditionsOf } from './conditions.ts';
import { createSender, type SenderOptions } from './sender.ts';
import { type ChannelPlan, planAlerts, UNDECIDED_MS } from './plan-alerts.ts';

interface AlertsOptions extends Omit<SenderOptions, 'channel' | 'context' | 'nowMs'> {
  readonly channels: readonly Channel[];
  readonly accounts: readonly {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly timezone: string;
    readonly place: TokenPlace;
  }[];
  /** The last read of the warehouse, and why the warehouse cannot be read now. */
  readonly latest: () => { readonly seen: AccountsRead | null; readonly problem: string | null };
  readonly outage: () => Outage | undefined;
  readonly version: string;
  /** Host and process id, for example `host-1 pid 42`. */
  readonly owner: string;
  readonly afterMs: number;
  readonly freshnessBudgetMinutes: number;
  /** False: REPORT_CRON is not set, so recorded report failures are outdated and ignored. */
  readonly hasReports: boolean;
}

export interface Alerts {
  /** The alerts part of the status: open alerts, and the state of each channel. */
  readonly status: AlertsStatus;
  /** Compares once and starts sending the alerts that are due; never rejects. */
  look(): Promise<void>;
  /** Resolves when no message is being sent. */
  idle(): Promise<void>;
  start(everyMs?: number): void;
  stop(): Promise<void>;
}

const EVERY_MS = 10 * SECOND_MS;
/** A warehouse may lack migrations for this long before an alert is sent. */
const MIGRATING_MS = 5 * MINUTE_MS;
/** Looking takes at most 1/20 of the time, because its cost grows with the number of accounts. */
const LOOKING_SHARE = 20;
const MOST_REST_MS = 60 * SECOND_MS;

export function createAlerts(options: AlertsOptions): Alerts {
  const { accounts, clock, db, log, afterMs, freshnessBudgetMinutes, version, owner } = options;
  const ids = accounts.map(({ id }) => id);
  const nowMs = (): number => clock.now() + databaseOffsetMs(options.latest().seen);
  const context = {
    version,
    owner,
    accounts: new Map(accounts.map(({ id, timezone, place }) => [id, { timezone, place }])),
  };
  const senders = options.channels.map((channel) => createSender({ ...options, channel, context, nowMs }));
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let awaySinceMs: number | undefined;
  let rows: readonly AlertRow[] = [];
  /** Why alerts cannot be recorded; null: they can, as far as is known. */
  let unreadable: string | null = null;

  async function record({ channel, ...plan }: ChannelPlan, asOfMs: number): Promise<void> {
    const at = { asOfMs, nowMs: nowMs() };
    await beginAlerts(db, plan.begun, at);
    await resumeAlerts(db, { channel, keys: plan.resumed }, at);
    await endAlerts(db, { channel, keys: plan.ended }, at);
    await postponeAlerts(db, { channel, keys: plan.postponed }, at.nowMs + UNDECIDED_MS);
  }

  /** Logged, because this failure cannot be recorded as an alert. */
  function recordUnreadable(error: SafetySyncError): void {
    const { code, message, advice } = error;
    // The monitor detects an unreachable database by itself, and an alert is sent for it.
    const isAway = dependencyOf(error) === 'database';
    log[isAway || unreadable !== null ? 'debug' : 'error'](
      { error_code: code },
      `no alerts are sent, because they cannot be recorded (${code}: ${message}). ${advice}`,
    );
    if (!isAway) unreadable = `they cannot be recorded in the database (${code})`;
  }

  async function lookAt(seen: AccountsRead): Promise<void> {
    const occasions = await readOccasions(db, ids);
    const failedReports = options.hasReports ? await readFailedReports(db, ids) : new Map<string, string>();
    const conditions = conditionsOf({ accounts, seen, occasions, failedReports, freshnessBudgetMinutes });
    const channels = senders.map(({ name }) => name);
    const plan = async (): Promise<ChannelPlan[]> => {
      rows = await readAlerts(db, ids);
      return planAlerts({ rows, conditions, channels, nowMs: nowMs(), afterMs });
    };
    for (const one of await plan()) await record(one, seen.databaseNowMs);
    // Alerts that were just recorded may be due at once.
    const plans = await plan();
    for (const sender of senders) {
      for (const one of plans) if (one.channel === sender.name) sender.sendDue(one);
    }
  }

  async function look(): Promise<void> {
    const { seen, problem } = options.latest();
    const isBehind = problem === null && seen !== null && seen.pendingMigrations > 0;
    if (problem !== null || isBehind) {
      const outage = options.outage();
      awaySinceMs ??= outage?.sinceMs ?? clock.now();
      // A worker applies pending migrations when it starts.
      if (clock.now() - awaySinceMs < (isBehind ? Math.max(afterMs, MIGRATING_MS) : afterMs)) return;
      const code = isBehind ? 'database_not_migrated' : (outage?.code ?? 'database_error');
      const advice = isBehind ? undefined : outage?.advice;
      for (const sender of senders) sender.sendOutage({ sinceMs: awaySinceMs, code, advice });
      return;
    }
    awaySinceMs = undefined;
    if (seen === null) return;
    try {
      await lookAt(seen);
      unreadable = null;
    } catch (error) {
      recordUnreadable(toDatabaseError(error));
    }
  }

  return {
    get status() {
      return {
        // An outage of the database has no row: only this worker's memory has it.
        open:
          new Set(rows.filter(({ endedMs }) => endedMs === null).map(textOfKey)).size +
          (awaySinceMs === undefined ? 0 : 1),
        channels: senders.map(({ name, problem }) => {
          // Includes alerts that other workers could not send.
          const waiting = rows.filter(({ channel, tries }) => channel === name && tries > 0);
          return {
            name,
            waiting: waiting.length,
            problem: unreadable ?? problem ?? waiting[0]?.problem ?? null,
          };
        }),
      };
    },
    look,
    async idle() {
      await Promise.all(senders.map((sender) => sender.idle()));
    },
    start(everyMs = EVERY_MS) {
      const again = async (): Promise<void> => {
        const startedMs = clock.monotonicMs();
        await look();
        const shareMs = (clock.monotonicMs() - startedMs) * LOOKING_SHARE;
        const restMs = Math.max(everyMs, Math.min(shareMs, MOST_REST_MS));
        if (!isStopped) timer = setTimeout(() => void again(), restMs);
      };
      if (senders.length > 0) void again();
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await Promise.all(senders.map((sender) => sender.stop()));
    },
  };
}
