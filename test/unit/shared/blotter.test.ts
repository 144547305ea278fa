import { describe, expect, it } from 'vitest';
import { createBlotter } from '../../../src/shared/logger.ts';

const many = Array.from({ length: 2_000 }, (_, index) => `token-${index}-${(index * 7919) % 10_007}`);

describe.each([
  ['few secrets', ['canary-one', 'canary-two"quoted', 'two words?']],
  ['thousands of secrets', ['canary-one', 'canary-two"quoted', 'two words?', ...many]],
])('with %s', (_, secrets) => {
  const blot = createBlotter(secrets);

  it('each is taken out of a text, wherever and however often it stands', () => {
    expect(blot('canary-one, canary-onecanary-one!')).toBe('[secret], [secret][secret]!');
  });

  it('also as it stands in JSON and in a URL', () => {
    expect(blot(JSON.stringify({ a: 'canary-two"quoted' }))).toBe('{"a":"[secret]"}');
    expect(blot('?t=two%20words%3F')).toBe('?t=[secret]');
  });

  it('what is no secret stays', () => {
    expect(blot('canary-on, token-')).toBe('canary-on, token-');
  });
});

it('of thousands, every one is taken out; one that begins with another goes as a whole', () => {
  const blot = createBlotter([...many, 'token-7', 'token-7-and-more']);
  for (const secret of many) expect(blot(`x${secret}y`)).toMatch(/^x\[secret\]\d*y$/);
  expect(blot('token-7-and-more')).toBe('[secret]');
});
