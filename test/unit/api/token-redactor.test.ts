import { expect, test } from 'vitest';
import { toServerText } from '../../../src/engine/api/response-errors.ts';
import { createRedactor } from '../../../src/shared/redact.ts';

const TOKEN = 'tok/"secret"+<value>&0123456789';
const redact = createRedactor([TOKEN], { placeholder: '[token]', shortestBeginning: 12 });

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

test('a token is replaced before a text is cut, so that no part of it remains', () => {
  expect(toServerText(`${'x'.repeat(70)}${TOKEN}${'y'.repeat(70)}`, redact)).toBe(
    `${'x'.repeat(70)}[token]yyy…`,
  );
});

test('control characters and line breaks of a server text are removed before it is logged', () => {
  expect(toServerText('a\u001b[31m\n\r\t b\u0000\u2028c\u202ed ', redact)).toBe('a [31m b c d');
});
