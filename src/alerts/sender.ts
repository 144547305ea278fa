/** One channel in a worker: claims what is due, tells it, and records that it did. One thing at a time, apart from all others. */
import { type AlertRow, claimAlerts, recordNotTold, recordTold, recordToldOutage } from './ledger.ts';
import type { Queryable } from '../database/connection.ts';
import type { AlertChannel, Claim } from '../database/control-tables.ts';
import { toDatabaseError } from '../database/database-error.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import type { Redact } from '../shared/redact.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../shared/time.ts';
import { type Channel, type Telling, tell } from './channel.ts';
import { type Teller, toMessage } from './message.ts';
import type { ChannelPlan } from './plan-alerts.ts';

export interface SenderOptions extends Pick<Telling, 'attempts' | 'attemptMs'> {
  readonly channel: Channel;
  readonly teller: Teller;
  readonly db: Queryable;
  readonly clock: Clock;
  /** By the database's clock, as far as it is known. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly redact: Redact;
  /** How long what is being told may take to arrive at a stop; default: five seconds. */
  readonly stopPatienceMs?: number;
  readonly onTold: (channel: AlertChannel, alerts: number) => void;
  readonly onNotTold: (channel: AlertChannel, alerts: number) => void;
}

/** The database cannot be used by this worker. */
interface Away {
  /** By our clock. */
  readonly sinceMs: number;
  readonly code: string;
  /** What to do, where the failure shows more than its code. */
  readonly advice: string | undefined;
}

interface Sender {
  readonly name: AlertChannel;
  /** Why the last message was not taken; null: it was, or there was none. */
  readonly problem: string | null;
  /** Begins to tell what is due, unless something is being told. */
  tellDue(plan: ChannelPlan): void;
  /** The same of a database that can be asked nothing: by this worker's memory. */
  tellAway(away: Away): void;
  /** Resolves when nothing is being told. */
  idle(): Promise<void>;
  /** What is being told has a few seconds to arrive. */
  stop(): Promise<void>;
}

/** A claim ends after this: longer than all attempts that are made in it take together. */
export const CLAIM_MS = 2 * MINUTE_MS;
const FIRST_AGAIN_MS = 30 * SECOND_MS;
const MOST_AGAIN_MS = 15 * MINUTE_MS;
const STOP_PATIENCE_MS = 5 * SECOND_MS;

const againAfterMs = (tries: number): number => Math.min(MOST_AGAIN_MS, FIRST_AGAIN_MS * 2 ** tries);

interface ToldAway extends Away {
  isTold: boolean;
  tries: number;
  /** On the monotonic clock. */
  againMs: number;
}

export function createSender(options: SenderOptions): Sender {
  const { channel, teller, db, clock, nowMs, log, redact, attempts, attemptMs } = options;
  const { stopPatienceMs = STOP_PATIENCE_MS } = options;
  const { name } = channel;
  const stopping = new AbortController();
  let isStopped = false;
  let busy: Promise<void> | undefined;
  let problem: string | null = null;
  let away: ToldAway | undefined;
  /** Was told, and the database could not be told that it was. */
  let unrecorded: { readonly rows: readonly AlertRow[]; readonly claim: Claim }[] = [];

  /** False: it was not taken. */
  async function send(rows: readonly AlertRow[]): Promise<boolean> {
    const { subject, text, html } = toMessage(rows, teller);
    // There is nothing secret in it; should there be, it does not leave the house.
    const message = { subject: redact(subject), text: redact(text), html: redact(html) };
    const fields = { channel: name, alerts: rows.length };
    try {
      await tell({ channel, message, signal: stopping.signal, attempts, attemptMs });
    } catch (caught) {
      const { code, message, advice, cause } = caught as SafetySyncError;
      const level = problem === null ? 'error' : 'debug';
      log[level](
        { ...fields, error_code: code },
        `an alert was not taken by ${message}; trying on. ${advice}`,
      );
      problem = redact((cause as Error).message);
      options.onNotTold(name, rows.length);
      return false;
    }
    log.info(fields, `told by ${name}: ${message.subject}`);
    problem = null;
    options.onTold(name, rows.length);
    return true;
  }

  const awayRow = ({ sinceMs, code, advice }: Away): AlertRow => ({
    accountId: [...teller.accounts.keys()][0] ?? '',
    event: 'database_away',
    subject: '',
    channel: name,
    code,
    advice,
    detail: teller.owner,
    beganMs: sinceMs + nowMs() - clock.now(),
    endedMs: null,
    toldMs: null,
    dueMs: null,
    tries: 0,
    problem: null,
  });

  async function sendAway(now: Away): Promise<void> {
    // One that was told and is not recorded yet goes on, also where the database was back in between.
    if (away?.isTold === true) return;
    if (away?.sinceMs !== now.sinceMs) away = { ...now, isTold: false, tries: 0, againMs: -Infinity };
    if (clock.monotonicMs() < away.againMs) return;
    away.isTold = await send([awayRow(away)]);
    if (away.isTold) return;
    away.againMs = clock.monotonicMs() + againAfterMs(away.tries);
    away.tries += 1;
  }

  /** What was told while the database could not be told that it was. */
  async function recordArrears(): Promise<void> {
    if (away?.isTold === true) await recordToldOutage(db, { ...awayRow(away), nowMs: nowMs() });
    away = undefined;
    for (const { rows, claim } of unrecorded) await recordTold(db, rows, { ...claim, nowMs: nowMs() });
    unrecorded = [];
  }

  async function sendDue({ due }: ChannelPlan): Promise<void> {
    await recordArrears();
    const claim = { owner: teller.owner, untilMs: nowMs() + CLAIM_MS };
    const rows = await claimAlerts(db, { channel: name, keys: due }, { ...claim, nowMs: nowMs() });
    if (rows.length === 0) return;
    if (await send(rows)) {
      unrecorded.push({ rows, claim });
      await recordArrears();
      return;
    }
    // A worker that stops leaves it to another one, at once.
    const againMs = isStopped ? 0 : againAfterMs(Math.min(...rows.map(({ tries }) => tries)));
    await recordNotTold(db, rows, { ...claim, problem: problem ?? '', againMs: nowMs() + againMs });
  }

  function begin(work: () => Promise<void>): void {
    if (isStopped) return;
    busy ??= work()
      .catch((error: unknown) => {
        const { code, message } = toDatabaseError(error);
        log.debug({ error_code: code }, `what was told cannot be recorded: ${message}`);
      })
      .finally(() => (busy = undefined));
  }

  return {
    name,
    get problem() {
      return problem;
    },
    tellDue: (plan) => begin(() => sendDue(plan)),
    tellAway: (now) => begin(() => sendAway(now)),
    async idle() {
      await busy;
    },
    async stop() {
      isStopped = true;
      const last = busy ?? Promise.resolve();
      await withTimeout(last, stopPatienceMs);
      stopping.abort();
      await withTimeout(last, SECOND_MS);
    },
  };
}
