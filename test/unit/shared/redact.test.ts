import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../../src/shared/redact.ts';

const many = Array.from({ length: 2_000 }, (_, index) => `token-${index}-${(index * 7919) % 10_007}`);

describe.each([
  ['few secrets', ['canary-one', 'canary-two"quoted', 'two words?']],
  ['thousands of secrets', ['canary-one', 'canary-two"quoted', 'two words?', ...many]],
])('with %s', (_, secrets) => {
  const redact = createRedactor(secrets);

  it('each is taken out of a text, wherever and however often it stands', () => {
    expect(redact('canary-one, canary-onecanary-one!')).toBe('[secret], [secret][secret]!');
  });

  it('also as it stands in JSON and in a URL', () => {
    expect(redact(JSON.stringify({ a: 'canary-two"quoted' }))).toBe('{"a":"[secret]"}');
    expect(redact('?t=two%20words%3F')).toBe('?t=[secret]');
  });

  it('what is no secret stays', () => {
    expect(redact('canary-on, token-')).toBe('canary-on, token-');
  });
});

it('of thousands, every one is taken out; one that begins with another goes as a whole', () => {
  const redact = createRedactor([...many, 'token-7', 'token-7-and-more']);
  for (const secret of many) expect(redact(`x${secret}y`)).toMatch(/^x\[secret\]\d*y$/);
  expect(redact('token-7-and-more')).toBe('[secret]');
});
