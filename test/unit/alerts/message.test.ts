import { expect, test } from 'vitest';
import { type MessageContext, toMessage } from '../../../src/operate/alerts/message.ts';
import type { AlertRow } from '../../../src/operate/alerts/outbox.ts';
import { MINUTE_MS, toIso } from '../../../src/shared/time.ts';
import { VERSION } from '../../../src/version.ts';
import { NOON } from '../../support/test-clock.ts';

const row = (change: Partial<AlertRow> = {}): AlertRow => ({
  ...{ account_id: 'north', event: 'stream_failing', subject: 'followups', channel: 'mail' },
  ...{ code: 'server_error', detail: null, began_at: toIso(NOON), ended_at: null, sent_at: null },
  ...{ due_at: toIso(NOON), tries: 0, problem: null },
  ...change,
});

const context = (...accounts: string[]): MessageContext => ({
  owner: 'host pid 1',
  accounts: accounts.map((id) => ({
    id,
    config: { reportingTimezone: 'Europe/Oslo' },
  })),
});

test('a message has a line for the streams of an account with one error, those that began first, and advice for each', () => {
  const rows = [
    row({ subject: 'resources', ended_at: toIso(NOON + 90 * MINUTE_MS), sent_at: toIso(NOON) }),
    row(),
    row({ subject: 'users' }),
    row({ account_id: 'south', event: 'credentials_refused', subject: '', code: 'token_invalid' }),
  ];
  const { subject, text } = toMessage(rows, context('north', 'south'));
  expect(subject).toBe('[safety-sync] 2 alerts, 1 over');
  expect(text).toBe(
    `✗ north: follow-ups and names of people fail (server_error); since 2 Mar 2026, 13:00 (Europe/Oslo).
   What to do: The service failed by itself; if it lasts, give its operator the request ID.
✗ south: the service refuses the credentials (token_invalid); since 2 Mar 2026, 13:00 (Europe/Oslo).
   What to do: The service does not know this token; replace SAFETY_TOKEN, or token of the account in SAFETY_ACCOUNTS_FILE.
✓ north: over: documents fail (server_error); it began 2 Mar 2026, 13:00 (Europe/Oslo) and lasted 1 h 30 min.
– safety-sync ${VERSION}, host pid 1`,
  );
});

test('a message with many alerts lists the first ones and counts the rest', () => {
  const rows = Array.from({ length: 40 }, (_, at) =>
    row({ account_id: `account-${at}`, code: `code_${at}` }),
  );
  const { text } = toMessage(rows, context('a', 'b'));
  expect(text).toContain('And 28 more alerts: see the status page of the worker');
  expect(text.length).toBeLessThan(4_000);
});

test('a field name from the service becomes neither markup nor a mention', () => {
  const rows = [row({ event: 'new_field', subject: 'followups <script>@here <!channel>', code: null })];
  const { text } = toMessage(rows, context('north'));
  expect(text).toContain('The service sends new fields: ?script??here???channel? of follow-ups;');
});
