/** A way by which somebody is told. */
import pRetry, { AbortError } from 'p-retry';
import type { AlertChannel } from '../database/control-tables.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { formatDuration } from '../shared/format.ts';
import type { Redact } from '../shared/redact.ts';
import { SECOND_MS, withTimeout } from '../shared/time.ts';
import type { Message } from './message.ts';

export interface Channel {
  readonly name: AlertChannel;
  /** In words, without what is secret: `the webhook at hooks.example.com`. */
  readonly place: string;
  /** Resolves when the other side has taken it; rejects with a `NotTaken` or anything else. */
  send(message: Message, signal: AbortSignal): Promise<void>;
}

/** The other side said no. */
export class NotTaken extends Error {
  /** The same would be said again at once. */
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Of a response that says no. */
const SHOWN_CHARACTERS = 120;

/** Who is told may say back what he was sent, and the cut may leave the beginning of a secret: that goes, too. */
export const OF_ECHOES = { shortestBeginning: 12 } as const;

/** `redact` takes secrets out before the cut and after it. */
export const excerptOf = (response: string, redact: Redact): string =>
  redact(redact(response).replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS));

/** One attempt, from the connection to the last byte of the response. */
export const ATTEMPT_MS = 10 * SECOND_MS;
const ATTEMPTS = 3;
/** Before the second one; doubles. */
const DELAY_MS = SECOND_MS;

/** What went wrong, without the address: that is a secret, and an error of the network repeats it. */
export function problemOf(error: unknown): string {
  if (error instanceof NotTaken) return error.message;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  const known = cause?.code ?? code;
  return typeof known === 'string' ? `it cannot be reached (${known})` : 'it cannot be reached';
}

async function attempt({ channel, message, signal, attemptMs = ATTEMPT_MS }: Telling): Promise<void> {
  const late = AbortSignal.timeout(attemptMs);
  const sent = channel.send(message, AbortSignal.any([signal, late]));
  // Longer than the signal: whatever does not heed it must not hold up the next attempt.
  const outcome = await withTimeout(sent, attemptMs + SECOND_MS).catch((error: unknown) => {
    if (!late.aborted) throw error;
    return { inTime: false } as const;
  });
  if (!outcome.inTime) throw new NotTaken(`no response within ${formatDuration(attemptMs)}`, false);
}

export interface Telling {
  readonly channel: Channel;
  readonly message: Message;
  readonly signal: AbortSignal;
  readonly attempts?: number | undefined;
  /** How long each may take. */
  readonly attemptMs?: number | undefined;
}

/** Some attempts close together, for what passes in seconds. Error: `webhook_failed` or `mail_failed`, in words of ours. */
export async function tell(telling: Telling): Promise<void> {
  const { channel, signal, attempts = ATTEMPTS } = telling;
  try {
    await pRetry(
      async () => {
        try {
          await attempt(telling);
        } catch (error) {
          const problem = new Error(problemOf(error));
          throw error instanceof NotTaken && error.isFinal ? new AbortError(problem) : problem;
        }
      },
      {
        retries: attempts - 1,
        minTimeout: DELAY_MS,
        maxTimeout: 4 * DELAY_MS,
        factor: 2,
        randomize: true,
        signal,
      },
    );
  } catch (error) {
    const code = channel.name === 'webhook' ? 'webhook_failed' : 'mail_failed';
    throw new SafetySyncError(code, `${channel.place}: ${(error as Error).message}`, { cause: error });
  }
}
