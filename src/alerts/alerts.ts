/**
 * Tells people what is wrong, and when it is over: looks every few seconds at what the monitor read, records it in
 * `safety_sync.alerts`, and tells what is due there. The work is apart from everything else of the worker: whoever is told
 * may take his time or not be there at all.
 *
 * A database that is away can decide nothing: each worker that cannot use it says so, because one may be cut off where others
 * are not; when it is back they record what they told, and one of them tells that it is over.
 */
import type { OffReasons } from '../config/account-config.ts';
import {
  type AlertRow,
  beginAlerts,
  endAlerts,
  postponeAlerts,
  readAlerts,
  resumeAlerts,
  textOfKey,
} from './ledger.ts';
import { toDatabaseError } from '../database/database-error.ts';
import { readOccasions } from './occasions.ts';
import { readFailedReports } from '../database/report-plans.ts';
import { dependencyOf, type Outage } from '../health/outage-log.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { TokenPlace } from '../shared/token-place.ts';
import { MINUTE_MS, SECOND_MS } from '../shared/time.ts';
import { databaseOffsetMs } from '../status/database-report.ts';
import type { AccountsRead } from '../status/read-accounts.ts';
import type { AlertsReport } from '../status/status.ts';
import type { Channel } from './channel.ts';
import { conditionsOf } from './conditions.ts';
import { createSender, type SenderOptions } from './sender.ts';
import { type ChannelPlan, planAlerts, UNDECIDED_MS } from './plan-alerts.ts';

interface AlertsOptions extends Omit<SenderOptions, 'channel' | 'teller' | 'nowMs'> {
  readonly channels: readonly Channel[];
  readonly accounts: readonly {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly timezone: string;
    readonly place: TokenPlace;
  }[];
  /** What was read of the warehouse last, and why it cannot be read now. */
  readonly latest: () => { readonly seen: AccountsRead | null; readonly problem: string | null };
  readonly outage: () => Outage | undefined;
  readonly version: string;
  /** Host and process. */
  readonly owner: string;
  readonly afterMs: number;
  readonly freshnessBudgetMinutes: number;
  /** Reports come by themselves; what is recorded of them was else of a time when they did. */
  readonly hasReports: boolean;
}

export interface Alerts {
  /** What there is to say of the telling itself. */
  readonly report: AlertsReport;
  /** Looks now, and begins to tell what is due; never rejects. */
  look(): Promise<void>;
  /** Resolves when nothing is being told. */
  idle(): Promise<void>;
  start(everyMs?: number): void;
  stop(): Promise<void>;
}

const EVERY_MS = 10 * SECOND_MS;
/** How long a warehouse may lack migrations without being told of. */
const MIGRATING_MS = 5 * MINUTE_MS;
/** Looking may take one part in this many of the time. */
const LOOKING_SHARE = 20;
const MOST_REST_MS = 60 * SECOND_MS;

export function createAlerts(options: AlertsOptions): Alerts {
  const { accounts, clock, db, log, afterMs, freshnessBudgetMinutes, version, owner } = options;
  const ids = accounts.map(({ id }) => id);
  const nowMs = (): number => clock.now() + databaseOffsetMs(options.latest().seen);
  const teller = {
    version,
    owner,
    accounts: new Map(accounts.map(({ id, timezone, place }) => [id, { timezone, place }])),
  };
  const senders = options.channels.map((channel) => createSender({ ...options, channel, teller, nowMs }));
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let awaySinceMs: number | undefined;
  let rows: readonly AlertRow[] = [];
  /** Why nothing can be recorded; null: it can, as far as is known. */
  let unreadable: string | null = null;

  async function record({ channel, ...plan }: ChannelPlan, asOfMs: number): Promise<void> {
    const at = { asOfMs, nowMs: nowMs() };
    await beginAlerts(db, plan.begun, at);
    await resumeAlerts(db, { channel, keys: plan.resumed }, at);
    await endAlerts(db, { channel, keys: plan.ended }, at);
    await postponeAlerts(db, { channel, keys: plan.postponed }, at.nowMs + UNDECIDED_MS);
  }

  /** Else nobody would ever hear that nobody is told. */
  function recordUnreadable(error: SafetySyncError): void {
    const { code, message, advice } = error;
    // The monitor finds out by itself, and that is told.
    const isAway = dependencyOf(error) === 'database';
    log[isAway || unreadable !== null ? 'debug' : 'error'](
      { error_code: code },
      `nobody is told of anything, because alerts cannot be recorded (${code}: ${message}). ${advice}`,
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
    // What was recorded may be due at once.
    const plans = await plan();
    for (const sender of senders) {
      for (const one of plans) if (one.channel === sender.name) sender.tellDue(one);
    }
  }

  async function look(): Promise<void> {
    const { seen, problem } = options.latest();
    const isBehind = problem === null && seen !== null && seen.pendingMigrations > 0;
    if (problem !== null || isBehind) {
      const outage = options.outage();
      awaySinceMs ??= outage?.sinceMs ?? clock.now();
      // A worker that starts migrates first.
      if (clock.now() - awaySinceMs < (isBehind ? Math.max(afterMs, MIGRATING_MS) : afterMs)) return;
      const code = isBehind ? 'database_not_migrated' : (outage?.code ?? 'database_error');
      const advice = isBehind ? undefined : outage?.advice;
      for (const sender of senders) sender.tellAway({ sinceMs: awaySinceMs, code, advice });
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
    get report() {
      return {
        // An outage of the database stands nowhere but in the memory of its worker.
        open:
          new Set(rows.filter(({ endedMs }) => endedMs === null).map(textOfKey)).size +
          (awaySinceMs === undefined ? 0 : 1),
        channels: senders.map(({ name, problem }) => {
          // Also what other workers could not tell.
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
