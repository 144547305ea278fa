import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../../src/shared/redact.ts';

const many = Array.from({ length: 2_000 }, (_, index) => `token-${index}-${(index * 7919) % 10_007}`);

describe.each([
  ['few secrets', ['canary-one', 'canary-two"quoted', 'two words?']],
  ['thousands of secrets', ['canary-one', 'canary-two"quoted', 'two words?', ...many]],
])('with %s', (_, secrets) => {
  const redact = createRedactor(secrets);

  it('each secret is replaced in a text at every place', () => {
    expect(redact('canary-one, canary-onecanary-one!')).toBe('[secret], [secret][secret]!');
  });

  it('a secret is replaced in JSON and in a URL', () => {
    expect(redact(JSON.stringify({ a: 'canary-two"quoted' }))).toBe('{"a":"[secret]"}');
    expect(redact('?t=two%20words%3F')).toBe('?t=[secret]');
  });

  it('text that is no secret remains', () => {
    expect(redact('canary-on, token-')).toBe('canary-on, token-');
  });
});

it('each of thousands of secrets is replaced, and a secret that begins with another one is replaced as a whole', () => {
  const redact = createRedactor([...many, 'token-7', 'token-7-and-more']);
  for (const secret of many) expect(redact(`x${secret}y`)).toMatch(/^x\[secret\]\d*y$/);
  expect(redact('token-7-and-more')).toBe('[secret]');
});
