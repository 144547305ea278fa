/** A channel delivers messages: a webhook or a mail server. */
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import { retrying } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Redact } from '../../shared/redact.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { Message } from './message.ts';

export interface Channel {
  readonly name: AlertChannel;
  /** A description without secrets, for example `the webhook at hooks.example.com`. */
  readonly place: string;
  /** Resolves when the receiver has accepted the message; rejects with a `NotAccepted` or any other error. */
  send(message: Message, signal: AbortSignal): Promise<void>;
}

/** The receiver refused the message. */
export class NotAccepted extends Error {
  /** True: an immediate retry would be refused again. */
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Characters of a refusing response that are shown. */
const SHOWN_CHARACTERS = 120;

/**
 * A receiver may echo the message, and the cut may leave only the start of a secret: starts of 12 characters are redacted,
 * too.
 */
export const ECHO_REDACTION = { shortestBeginning: 12 } as const;

/** Redacts before the cut and again after it. */
export const excerptOf = (response: string, redact: Redact): string =>
  redact(redact(response).replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS));

/** Timeout of one attempt, from the connection to the last byte of the response. */
export const ATTEMPT_MS = 10 * SECOND_MS;
const ATTEMPTS = 3;
const DELAYS = { firstMs: SECOND_MS, mostMs: 4 * SECOND_MS };

/** Describes the failure without the address: the address is a secret, and network errors repeat it. */
export function problemOf(error: unknown): string {
  if (error instanceof NotAccepted) return error.message;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  const known = cause?.code ?? code;
  return typeof known === 'string' ? `it cannot be reached (${known})` : 'it cannot be reached';
}

async function attempt({ channel, message, signal, attemptMs = ATTEMPT_MS }: Delivery): Promise<void> {
  const late = new AbortController();
  const sent = channel.send(message, AbortSignal.any([signal, late.signal]));
  // A transport that ignores the signal does not delay the next attempt.
  const { inTime } = await withTimeout(sent, attemptMs);
  if (inTime) return;
  late.abort();
  throw new NotAccepted(`no response within ${formatDuration(attemptMs)}`, false);
}

export interface Delivery {
  readonly channel: Channel;
  readonly message: Message;
  readonly signal: AbortSignal;
  readonly attempts?: number | undefined;
  /** Timeout of each attempt. */
  readonly attemptMs?: number | undefined;
}

/**
 * Sends a message in up to three attempts within seconds, because many failures last no longer. Rejects with
 * `webhook_failed` or `mail_failed`.
 */
export async function deliver(delivery: Delivery): Promise<void> {
  const { channel, signal, attempts = ATTEMPTS } = delivery;
  try {
    await retrying(() => attempt(delivery), {
      attempts,
      delays: DELAYS,
      signal,
      isFinal: (error) => error instanceof NotAccepted && error.isFinal,
    });
  } catch (error) {
    const code = channel.name === 'webhook' ? 'webhook_failed' : 'mail_failed';
    const problem = problemOf(error);
    throw new SafetySyncError(code, `${channel.place}: ${problem}`, { cause: new Error(problem) });
  }
}
