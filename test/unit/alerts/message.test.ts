import { expect, test } from 'vitest';
import { type MessageContext, toMessage } from '../../../src/operate/alerts/message.ts';
import type { AlertRow } from '../../../src/operate/alerts/outbox.ts';
import { joinNames } from '../../../src/operate/status/problem-words.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { VERSION } from '../../../src/version.ts';
import { NOON } from '../../support/test-clock.ts';

const row = (change: Partial<AlertRow> = {}): AlertRow => ({
  accountId: 'north',
  event: 'stream_failing',
  subject: 'followups',
  channel: 'mail',
  code: 'server_error',
  detail: null,
  beganMs: NOON,
  endedMs: null,
  sentMs: null,
  dueMs: NOON,
  tries: 0,
  problem: null,
  ...change,
});

const context = (...accounts: string[]): MessageContext => ({
  owner: 'host pid 1',
  accounts: new Map(
    accounts.map((id) => [id, { timezone: 'Europe/Oslo', tokenSource: { entry: `${id}-entry` } }]),
  ),
});

test('equal alerts of several streams and accounts are one line, in the time zone of the accounts', () => {
  const streams = ['followups', 'users'];
  const rows = ['north', 'south'].flatMap((accountId) =>
    streams.map((subject) => row({ accountId, subject })),
  );
  const { subject, text } = toMessage(rows, context('north', 'south'));
  expect(subject).toBe('[safety-sync] north and south: follow-ups and names of people fail (server_error)');
  expect(text).toBe(
    `✗ north and south: follow-ups and names of people fail (server_error); since 2 Mar 2026, 13:00 (Europe/Oslo).
   What to do: The service failed by itself; if it lasts, give its operator the request ID.
– safety-sync ${VERSION}, host pid 1`,
  );
});

test('the advice of an alert names the entry of the accounts file', () => {
  const rows = [row({ event: 'credentials_refused', subject: '', code: 'token_invalid' })];
  expect(toMessage(rows, context('north', 'south')).text).toContain(
    'What to do: The service does not know this token; replace token of the entry north-entry in SAFETY_ACCOUNTS_FILE.',
  );
});

test('alerts that began are listed before alerts that ended, and the subject counts both', () => {
  const rows = [row({ endedMs: NOON + 90 * MINUTE_MS, sentMs: NOON, subject: 'users' }), row()];
  const { subject, text } = toMessage(rows, context('north'));
  expect(subject).toBe('[safety-sync] 1 alert, 1 over');
  expect(text.split('\n').map((line) => line.charAt(0))).toEqual(['✗', ' ', '✓', '–']);
  expect(text).toContain(
    '✓ Names of people succeed again; it began 2 Mar 2026, 13:00 (Europe/Oslo) and was over after 1 h 30 min.',
  );
});

test('alerts that ended together are one line, from the first beginning to the last end', () => {
  const over = (subject: string, began: number, ended: number) =>
    row({ subject, beganMs: NOON + began * MINUTE_MS, endedMs: NOON + ended * MINUTE_MS, sentMs: NOON });
  const { text } = toMessage([over('users', 20, 40), over('followups', 0, 30)], context('north'));
  expect(text).toContain(
    '✓ Names of people and follow-ups succeed again; it began 2 Mar 2026, 13:00 (Europe/Oslo) and was over after 40 min.',
  );
});

test('a message with many alerts lists the first ones and counts the rest', () => {
  const rows = Array.from({ length: 40 }, (_, at) => row({ accountId: `account-${at}`, code: `code_${at}` }));
  const { text, html } = toMessage(rows, context('a', 'b'));
  expect(text).toContain('And 28 more alerts: see the status page of the worker');
  expect(text.length).toBeLessThan(4_000);
  expect(html).toContain('And 28 more alerts');
});

test('a field name from the service becomes neither markup nor a mention', () => {
  const rows = [row({ event: 'new_field', subject: 'followups <script>@here <!channel>', code: null })];
  const { text, html } = toMessage(rows, context('north'));
  for (const sent of [text, html]) expect(sent).not.toMatch(/<script|@here|<!channel/);
  expect(text).toContain('The service sends new fields: ?script??here???channel? of follow-ups;');
});

test('a long list of names is cut after five and counts the rest', () => {
  expect(joinNames(['a'])).toBe('a');
  expect(joinNames(['a', 'b', 'c'])).toBe('a, b and c');
  expect(joinNames(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])).toBe('a, b, c, d, e and 3 more');
});
