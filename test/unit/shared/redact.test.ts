import { expect, it } from 'vitest';
import { createRedactor } from '../../../src/shared/redact.ts';

it('each secret is replaced in every spelling and at every place, as a whole, and other text remains', () => {
  const many = Array.from({ length: 500 }, (_, index) => `token-${index}-${(index * 7919) % 10_007}`);
  const secrets = ['canary-one', 'canary-two"quoted', 'two words?', 'token-7', 'token-7-and-more', ...many];
  const redact = createRedactor(secrets);
  expect(redact('canary-one, canary-onecanary-one!')).toBe('[secret], [secret][secret]!');
  expect(redact(JSON.stringify({ a: 'canary-two"quoted' }))).toBe('{"a":"[secret]"}');
  expect(redact('?t=two%20words%3F')).toBe('?t=[secret]');
  expect(redact('token-7-and-more')).toBe('[secret]');
  for (const secret of many) expect(redact(`x${secret}y`)).toMatch(/^x\[secret\]\d*y$/);
  expect(redact('canary-on, token-')).toBe('canary-on, token-');
  expect(createRedactor(['abc'])('abc')).toBe('abc');
  expect(createRedactor(['abcd'])('abcd')).toBe('[secret]');
  expect(createRedactor([])('null')).toBe('null');
  secrets.push('a later one');
  expect(redact('a later one')).toBe('[secret]');
});

it('a secret in the spelling of JSON with escaped slashes or of HTML is replaced, and so is a beginning that was cut off', () => {
  const redact = createRedactor(['ab/c<d&e', 'abc123'], { shortestBeginning: 4 });
  expect(redact('ab\\/c<d&e')).toBe('[secret]');
  expect(redact('ab/c&lt;d&amp;e, again')).toBe('[secret], again');
  expect(redact('you sent ab/c')).toBe('you sent [secret]');
  expect(redact('abc12x')).toBe('[secret]x');
  expect(redact('ab/, abc')).toBe('ab/, abc');
});
