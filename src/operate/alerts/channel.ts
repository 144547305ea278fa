/** A channel delivers messages: a webhook or a mail server. */
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Redact } from '../../shared/redact.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { AlertMessage } from './message.ts';

export interface Channel {
  readonly name: AlertChannel;
  /** A description without secrets, for example `the webhook at hooks.example.com`. */
  readonly endpoint: string;
  /**
   * Resolves when the receiver has accepted the message, with the recipients that it refused: `bad@example.com (550 no such
   * user)`. Rejects with a `NotAccepted` or any other error.
   */
  send(message: AlertMessage, signal: AbortSignal): Promise<readonly string[]>;
}

/** The receiver refused the message. */
export class NotAccepted extends Error {}

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

/** Timeout of a message, from the connection to the last byte of the response. */
export const ATTEMPT_MS = 10 * SECOND_MS;

/** Describes the failure without the address: the address is a secret, and network errors repeat it. */
export function channelProblem(error: unknown): string {
  if (error instanceof NotAccepted) return error.message;
  const { code, proxy } = error as { readonly code?: unknown; readonly proxy?: unknown };
  const through = typeof proxy === 'string' ? ` through the proxy ${proxy}` : '';
  return `it cannot be reached${through}${typeof code === 'string' ? ` (${code})` : ''}`;
}

interface Delivery {
  readonly channel: Channel;
  readonly message: AlertMessage;
  readonly signal: AbortSignal;
  readonly attemptMs?: number | undefined;
}

/**
 * Sends a message once, because the outbox repeats it. Returns the problem of refused recipients; null: the message is on its
 * way to all. Rejects with `webhook_failed` or `mail_failed`.
 */
export async function deliver({
  channel,
  message,
  signal,
  attemptMs = ATTEMPT_MS,
}: Delivery): Promise<string | null> {
  const late = new AbortController();
  try {
    const sent = channel.send(message, AbortSignal.any([signal, late.signal]));
    const delivered = await withTimeout(sent, attemptMs);
    if (!delivered.inTime) throw new NotAccepted(`no response within ${formatDuration(attemptMs)}`);
    const refused = delivered.value;
    return refused.length === 0 ? null : `${channel.endpoint}: it refused ${refused.join(', ')}`;
  } catch (error) {
    late.abort();
    const code = channel.name === 'webhook' ? 'webhook_failed' : 'mail_failed';
    const problem = channelProblem(error);
    throw new SafetySyncError(code, `${channel.endpoint}: ${problem}`, { cause: new Error(problem) });
  }
}
