/** A channel delivers messages: a webhook or a mail server. */
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { AlertChannel } from '../status/facts.ts';
import type { AlertMessage } from './message.ts';

export interface Channel {
  readonly name: AlertChannel;
  /** A description without secrets, for example `the webhook at hooks.example.com`. */
  readonly endpoint: string;
  /**
   * Resolves when the receiver has accepted the message, with the recipients that it refused: `bad@example.com (550 no such
   * user)`. Rejects with a `NotAccepted` or any other error.
   */
  readonly send: (message: AlertMessage, signal: AbortSignal) => Promise<readonly string[]>;
}

/** The receiver refused the message. */
export class NotAccepted extends Error {}

/** Timeout of a message, from the connection to the last byte of the response. */
export const ATTEMPT_MS = 10 * SECOND_MS;

/** Describes the failure without the address: the address is a secret, and network errors repeat it. */
export function channelProblem(error: unknown): string {
  if (error instanceof NotAccepted) return error.message;
  const { code } = error as { readonly code?: unknown };
  return `it cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`;
}

/**
 * Sends a message once, because the outbox repeats it. Returns the problem of refused recipients; null: the message is on its
 * way to all. Rejects with `webhook_failed` or `mail_failed`.
 */
export async function deliver(
  { name, endpoint, send }: Channel,
  message: AlertMessage,
  signal: AbortSignal,
  attemptMs = ATTEMPT_MS,
): Promise<string | null> {
  const late = AbortSignal.timeout(attemptMs);
  try {
    const refused = await send(message, AbortSignal.any([signal, late]));
    return refused.length === 0 ? null : `${endpoint}: it refused ${refused.join(', ')}`;
  } catch (error) {
    const code = name === 'webhook' ? 'webhook_failed' : 'mail_failed';
    const problem = late.aborted ? `no response within ${formatDuration(attemptMs)}` : channelProblem(error);
    throw new SafetySyncError(code, `${endpoint}: ${problem}`, { cause: new Error(problem) });
  }
}
