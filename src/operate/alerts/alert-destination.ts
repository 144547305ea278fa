/** Makes messages of alerts and delivers them by one channel. */
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Redact } from '../../shared/redact.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { type Channel, deliver } from './channel.ts';
import { type MessageContext, toMessage } from './message.ts';
import { isAlert } from './outbox.ts';
import type { Destination } from './sender.ts';

export interface AlertDestinationOptions {
  readonly log: Logger;
  /** How long a receiver of alerts may take. */
  readonly attemptMs?: number;
  readonly redact: Redact;
  readonly onOutcome: (channel: AlertChannel, outcome: 'sent' | 'not_taken', alerts: number) => void;
}

export const CLAIM_MS = 2 * MINUTE_MS;

/** Alerts that are due together are one message. */
export function createAlertDestination(
  channel: Channel,
  context: MessageContext,
  { attemptMs, log, redact, onOutcome }: AlertDestinationOptions,
): Destination {
  const { name } = channel;
  return {
    channel: name,
    claimMs: CLAIM_MS,
    delays: { firstMs: 30 * SECOND_MS, mostMs: 15 * MINUTE_MS },
    async send(rows, signal) {
      const { subject, text, html } = toMessage(rows.filter(isAlert), context);
      // The text contains no secrets by design; redacted all the same.
      const message = { subject: redact(subject), text: redact(text), html: redact(html) };
      const problem = await deliver({ channel, message, signal, attemptMs });
      log.info({ channel: name, alerts: rows.length }, `sent by ${name}: ${message.subject}`);
      if (problem !== null) log.warn({ channel: name }, `${problem}; the others get the alert`);
      onOutcome(name, 'sent', rows.length);
    },
    onFailed({ code, message, advice, cause }, rows, isRepeated) {
      log[isRepeated ? 'debug' : 'error'](
        { channel: name, alerts: rows.length, error_code: code },
        `an alert was not accepted by ${message}; retrying. ${advice}`,
      );
      onOutcome(name, 'not_taken', rows.length);
      return redact(cause instanceof Error ? cause.message : message);
    },
    nextMs: () => null,
  };
}
