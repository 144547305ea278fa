import { expect, test } from 'vitest';
import { readHeaders } from '../../../src/engine/api/http.ts';
import { toServerText } from '../../../src/engine/api/response-errors.ts';
import { createRedactor } from '../../../src/shared/redact.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const TOKEN = 'tok/"secret"+<value>&0123456789';
const redact = createRedactor([TOKEN], { placeholder: '[token]', shortestBeginning: 12 });

test.each([
  [{ 'svc-request-id': 'abc123' }, { requestId: 'abc123' }],
  [{ 'acme-request-id': 'a' }, { requestId: 'a' }],
  [{ 'acme-request-id': 'a', 'svc-request-id': 'b' }, { requestId: 'b' }],
  [{ 'svc-request-id': `id-${TOKEN}` }, { requestId: 'id-[token]' }],
  [{ date: 'Thu, 01 Jan 2026 00:00:10 GMT' }, { serviceTimeMs: NOW_MS + 10_000 }],
  [
    { date: 'soon', 'svc-request-id': ' ' },
    { serviceTimeMs: undefined, requestId: undefined },
  ],
  [{ 'retry-after': '7' }, { retryAfterMs: 7_000 }],
  [{ 'retry-after': 'later' }, { retryAfterMs: undefined }],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, { retryAfterMs: 5_000 }],
  [{ 'retry-after': 'Thu, 01 Jan 2020 00:00:00 GMT' }, { retryAfterMs: 0 }],
  // The worker's clock may be hours off.
  [
    { 'retry-after': 'Thu, 01 Jan 2026 05:00:05 GMT', date: 'Thu, 01 Jan 2026 05:00:00 GMT' },
    { retryAfterMs: 5_000 },
  ],
])('the headers %j are read as %j', (headers, expected) => {
  expect(readHeaders(headers, redact, NOW_MS)).toMatchObject(expected);
});

test.each([
  ['as it is', TOKEN],
  ['in JSON', JSON.stringify(TOKEN).slice(1, -1)],
  ['in JSON with escaped slashes', JSON.stringify(TOKEN).slice(1, -1).replaceAll('/', '\\/')],
  ['in a URL', encodeURIComponent(TOKEN)],
  ['in HTML', 'tok/&quot;secret&quot;+&lt;value&gt;&amp;0123456789'],
  ['in base64', Buffer.from(TOKEN).toString('base64')],
  ['cut off', TOKEN.slice(0, 14)],
])('a token %s is replaced in a message', (_name, echoed) => {
  expect(redact(`a ${echoed} b ${echoed}`)).toBe('a [token] b [token]');
});

test('a text of a server is one line, and its token is replaced before it is cut, so that no part of it remains', () => {
  const text = `\u001b[31m\n\r\t${'x'.repeat(60)}${TOKEN}${'y'.repeat(70)}`;
  expect(toServerText(text, redact)).toBe(`[31m ${'x'.repeat(60)}[token]yyyyyyyy…`);
});
