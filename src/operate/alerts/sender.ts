/** Sends the alerts of one channel: claims those that are due, sends them, and records the result. One message at a time. */
import { type AlertRow, claimAlerts, recordNotSent, recordSent, recordOutageSent } from './ledger.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import type { AlertChannel, Claim } from '../../engine/control/control-tables.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Redact } from '../../shared/redact.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../../shared/time.ts';
import { type Channel, type Delivery, tell } from './channel.ts';
import { type MessageContext, toMessage } from './message.ts';
import type { ChannelPlan } from './plan-alerts.ts';

export interface SenderOptions extends Pick<Delivery, 'attempts' | 'attemptMs'> {
  readonly channel: Channel;
  readonly context: MessageContext;
  readonly db: Queryable;
  readonly clock: Clock;
  /** The database's time, estimated while the database is away. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly redact: Redact;
  /** How long a message may take to arrive after a stop; default: five seconds. */
  readonly stopTimeoutMs?: number;
  readonly onSent: (channel: AlertChannel, alerts: number) => void;
  readonly onNotSent: (channel: AlertChannel, alerts: number) => void;
}

/** An outage of the database as this worker sees it. */
interface Away {
  /** By this process's clock. */
  readonly sinceMs: number;
  readonly code: string;
  /** Advice that is more specific than the one of the code. */
  readonly advice: string | undefined;
}

interface Sender {
  readonly name: AlertChannel;
  /** Why the last message was refused; null: it was accepted, or none was sent. */
  readonly problem: string | null;
  /** Starts sending the alerts that are due, unless a message is being sent. */
  sendDue(plan: ChannelPlan): void;
  /** Starts sending an alert for an outage of the database, which only this worker's memory holds. */
  sendOutage(away: Away): void;
  /** Resolves when no message is being sent. */
  idle(): Promise<void>;
  /** Waits a few seconds for the message that is being sent. */
  stop(): Promise<void>;
}

/** A claim expires after this time, which is longer than all attempts together. */
export const CLAIM_MS = 2 * MINUTE_MS;
const FIRST_AGAIN_MS = 30 * SECOND_MS;
const MOST_AGAIN_MS = 15 * MINUTE_MS;
const STOP_TIMEOUT_MS = 5 * SECOND_MS;

const againAfterMs = (tries: number): number => Math.min(MOST_AGAIN_MS, FIRST_AGAIN_MS * 2 ** tries);

interface SentOutage extends Away {
  isSent: boolean;
  tries: number;
  /** On the monotonic clock. */
  againMs: number;
}

export function createSender(options: SenderOptions): Sender {
  const { channel, context, db, clock, nowMs, log, redact, attempts, attemptMs } = options;
  const { stopTimeoutMs = STOP_TIMEOUT_MS } = options;
  const { name } = channel;
  const stopping = new AbortController();
  let isStopped = false;
  let busy: Promise<void> | undefined;
  let problem: string | null = null;
  let away: SentOutage | undefined;
  /** Messages that were sent and could not be recorded yet. */
  let unrecorded: { readonly rows: readonly AlertRow[]; readonly claim: Claim }[] = [];

  /** Returns false when the message was not accepted. */
  async function send(rows: readonly AlertRow[]): Promise<boolean> {
    const { subject, text, html } = toMessage(rows, context);
    // The text contains no secrets by design; redacted all the same.
    const message = { subject: redact(subject), text: redact(text), html: redact(html) };
    const fields = { channel: name, alerts: rows.length };
    try {
      await tell({ channel, message, signal: stopping.signal, attempts, attemptMs });
    } catch (caught) {
      const { code, message, advice, cause } = caught as SafetySyncError;
      const level = problem === null ? 'error' : 'debug';
      log[level](
        { ...fields, error_code: code },
        `an alert was not accepted by ${message}; retrying. ${advice}`,
      );
      problem = redact((cause as Error).message);
      options.onNotSent(name, rows.length);
      return false;
    }
    log.info(fields, `sent by ${name}: ${message.subject}`);
    problem = null;
    options.onSent(name, rows.length);
    return true;
  }

  const awayRow = ({ sinceMs, code, advice }: Away): AlertRow => ({
    accountId: [...context.accounts.keys()][0] ?? '',
    event: 'database_away',
    subject: '',
    channel: name,
    code,
    advice,
    detail: context.owner,
    beganMs: sinceMs + nowMs() - clock.now(),
    endedMs: null,
    toldMs: null,
    dueMs: null,
    tries: 0,
    problem: null,
  });

  async function sendAway(now: Away): Promise<void> {
    // An outage that was sent and not recorded yet counts as the same one, even if the database was back in between.
    if (away?.isSent === true) return;
    if (away?.sinceMs !== now.sinceMs) away = { ...now, isSent: false, tries: 0, againMs: -Infinity };
    if (clock.monotonicMs() < away.againMs) return;
    away.isSent = await send([awayRow(away)]);
    if (away.isSent) return;
    away.againMs = clock.monotonicMs() + againAfterMs(away.tries);
    away.tries += 1;
  }

  /** Records the messages that were sent while the database was away. */
  async function recordArrears(): Promise<void> {
    if (away?.isSent === true) await recordOutageSent(db, { ...awayRow(away), nowMs: nowMs() });
    away = undefined;
    for (const { rows, claim } of unrecorded) await recordSent(db, rows, { ...claim, nowMs: nowMs() });
    unrecorded = [];
  }

  async function sendDue({ due }: ChannelPlan): Promise<void> {
    await recordArrears();
    const claim = { owner: context.owner, untilMs: nowMs() + CLAIM_MS };
    const rows = await claimAlerts(db, { channel: name, keys: due }, { ...claim, nowMs: nowMs() });
    if (rows.length === 0) return;
    if (await send(rows)) {
      unrecorded.push({ rows, claim });
      await recordArrears();
      return;
    }
    // A worker that stops releases its claims, so that another one sends at once.
    const againMs = isStopped ? 0 : againAfterMs(Math.min(...rows.map(({ tries }) => tries)));
    await recordNotSent(db, rows, { ...claim, problem: problem ?? '', againMs: nowMs() + againMs });
  }

  function begin(work: () => Promise<void>): void {
    if (isStopped) return;
    busy ??= work()
      .catch((error: unknown) => {
        const { code, message } = toDatabaseError(error);
        log.debug({ error_code: code }, `sent alerts cannot be recorded: ${message}`);
      })
      .finally(() => (busy = undefined));
  }

  return {
    name,
    get problem() {
      return problem;
    },
    sendDue: (plan) => begin(() => sendDue(plan)),
    sendOutage: (now) => begin(() => sendAway(now)),
    async idle() {
      await busy;
    },
    async stop() {
      isStopped = true;
      const last = busy ?? Promise.resolve();
      await withTimeout(last, stopTimeoutMs);
      stopping.abort();
      await withTimeout(last, SECOND_MS);
    },
  };
}
