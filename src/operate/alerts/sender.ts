/**
 * Sends the rows of one channel of the outbox: claims those that are due, sends them, and settles the claim. One message at
 * a time.
 */
import { claimRows, type AlertRow, type OutboxRow, recordOutageSent, settleClaim } from './outbox.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import type { OutboxChannel } from '../../engine/control-tables/control-tables.ts';
import { toDatabaseError, toKnownError } from '../../engine/database/database-error.ts';
import { type Backoff, backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { type Clock, SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { ChannelPlan } from './plan-alerts.ts';

/** The rows of one message. */
type Rows = readonly [OutboxRow, ...OutboxRow[]];

/** Makes the messages of a channel and delivers them. */
export interface Destination {
  readonly channel: OutboxChannel;
  /** A claim expires after this time, which is longer than all attempts together. */
  readonly claimMs: number;
  /** Delays after failed attempts. */
  readonly delays: Backoff;
  send(rows: Rows, signal: AbortSignal): Promise<void>;
  /** Logs a failure, and returns what the outbox records of it. `isRepeated`: the message before failed, too. */
  onFailed(error: SafetySyncError, rows: Rows, isRepeated: boolean): string;
  /** When a row is due again after it was sent; null: never. */
  nextMs(row: OutboxRow, afterMs: number): number | null;
}

export interface SenderOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  /** The database's time, estimated while the database is away. */
  readonly nowMs: () => number;
  /** Host and process id, for example `host-1 pid 42`. */
  readonly owner: string;
  /** How long a message may take to arrive after a stop; default: five seconds. */
  readonly stopTimeoutMs?: number;
  readonly log: Logger;
}

/** An alert for an outage of the database, which only this worker's memory holds. */
interface OutageAlert {
  /** Identifies the outage. */
  readonly sinceMs: number;
  readonly row: AlertRow;
  isSent: boolean;
  failures: number;
  /** On the monotonic clock. */
  againMs: number;
}

const STOP_TIMEOUT_MS = 5 * SECOND_MS;

export function createSender(destination: Destination, options: SenderOptions) {
  const { db, clock, nowMs, owner, log, stopTimeoutMs = STOP_TIMEOUT_MS } = options;
  const { claimMs, delays } = destination;
  const stopping = new AbortController();
  let isStopped = false;
  let busy: Promise<void> | undefined;
  let problem: string | null = null;
  let away: OutageAlert | undefined;
  /** Each records a sent message. Left are those that the database has not accepted yet. */
  let unrecorded: (() => Promise<void>)[] = [];

  /** Returns the problem; null: the message was accepted. */
  async function send(rows: Rows): Promise<string | null> {
    try {
      await destination.send(rows, stopping.signal);
      problem = null;
    } catch (error) {
      problem = destination.onFailed(toKnownError(error), rows, problem !== null);
    }
    return problem;
  }

  async function sendOutage(now: Pick<OutageAlert, 'sinceMs' | 'row'>): Promise<void> {
    // An outage that was sent and not recorded yet counts as the same one, even if the database was back in between.
    if (away?.isSent === true) return;
    if (away?.sinceMs !== now.sinceMs) away = { ...now, isSent: false, failures: 0, againMs: -Infinity };
    if (clock.monotonicMs() < away.againMs) return;
    const { row } = away;
    away.isSent = (await send([row])) === null;
    if (away.isSent) {
      unrecorded.push(() => recordOutageSent(db, row, nowMs()));
      return;
    }
    away.failures += 1;
    away.againMs = clock.monotonicMs() + backoff(away.failures, delays);
  }

  async function recordSent(): Promise<void> {
    for (const record of unrecorded) await record();
    unrecorded = [];
    away = undefined;
  }

  async function sendClaimed(due: readonly OutboxRow[]): Promise<void> {
    const claim = { owner, nowMs: nowMs(), untilMs: nowMs() + claimMs };
    const [first, ...others] = await claimRows(db, due, claim);
    if (first === undefined) return;
    const rows: Rows = [first, ...others];
    const failure = await send(rows);
    if (failure === null) {
      // The next time is after the claim, even if the estimate of the database's time has gone back in between.
      const nextMs = destination.nextMs(first, Math.max(nowMs(), claim.nowMs));
      unrecorded.push(() => settleClaim(db, rows, claim, { sentMs: nowMs(), nextMs }));
      await recordSent();
      return;
    }
    // A worker that stops releases its claims, so that another one sends at once.
    const tries = Math.min(...rows.map((row) => row.tries));
    const againMs = nowMs() + (isStopped ? 0 : backoff(tries + 1, delays));
    await settleClaim(db, rows, claim, { problem: failure, againMs });
  }

  async function sendDue({ due }: Pick<ChannelPlan, 'due'>): Promise<void> {
    await recordSent();
    for (const rows of due) if (!isStopped) await sendClaimed(rows);
  }

  function begin(work: () => Promise<void>): void {
    if (isStopped) return;
    busy ??= work()
      .catch((error: unknown) => {
        const { code, message } = toDatabaseError(error);
        log.debug({ error_code: code }, `what was sent cannot be recorded: ${message}`);
      })
      .finally(() => (busy = undefined));
  }

  return {
    /** Why the last message was refused; null: it was accepted, or none was sent. */
    get problem() {
      return problem;
    },
    /** Starts sending the rows that are due, unless a message is being sent. */
    sendDue: (plan: Pick<ChannelPlan, 'due'>) => begin(() => sendDue(plan)),
    sendOutage: (now: Pick<OutageAlert, 'sinceMs' | 'row'>) => begin(() => sendOutage(now)),
    /** Resolves when no message is being sent. */
    async idle() {
      await busy;
    },
    /** Waits a few seconds for the message that is being sent. */
    async stop() {
      isStopped = true;
      const last = busy ?? Promise.resolve();
      await withTimeout(last, stopTimeoutMs);
      stopping.abort();
      await withTimeout(last, SECOND_MS);
    },
  };
}
