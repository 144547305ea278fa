import { expect, test } from 'vitest';
import { hasTick } from '../../../src/operate/worker/what-is-wrong.ts';

const between = (timezone: string, from: string, to: string): boolean =>
  hasTick({ expression: '*/15 * * * *', timezone }, Date.parse(from), Date.parse(to));

test('no worker is missed in the hour that comes again, because its ticks take place the second time', () => {
  expect(between('Europe/Dublin', '2027-10-30T23:46Z', '2027-10-31T00:55Z')).toBe(false);
  expect(between('Europe/Dublin', '2027-10-30T23:46Z', '2027-10-31T01:05Z')).toBe(true);
  expect(between('Australia/Lord_Howe', '2027-04-03T14:10Z', '2027-04-03T14:55Z')).toBe(true);
  expect(between('Australia/Lord_Howe', '2027-04-03T14:46Z', '2027-04-03T14:59Z')).toBe(false);
  expect(between('UTC', '2027-10-31T00:01Z', '2027-10-31T00:20Z')).toBe(true);
});
