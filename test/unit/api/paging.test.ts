import { expect, test } from 'vitest';
import { readPaging } from '../../../src/engine/api/http.ts';
import { drawRetryDelayMs } from '../../../src/engine/api/client.ts';

test('paging is read from numbers and from numbers as text', () => {
  expect(readPaging({ paging: { total: 12, last_page: '3' } })).toEqual({ total: 12, lastPage: 3 });
  expect(readPaging({ paging: { total: 0 } })).toEqual({ total: 0, lastPage: undefined });
});

test.each([-1, 1.5, 'many', null, '', {}, 1e300])('a total of %j is treated as absent', (total) => {
  expect(readPaging({ paging: { total, last_page: 2 } })).toEqual({ total: undefined, lastPage: 2 });
});

test.each([[undefined], [null]])('paging with the value %j is treated as absent', (paging) => {
  expect(readPaging({ paging })).toBeUndefined();
});

test.each([[[]], [{}], ['x'], [3]])('paging with the value %j has neither total nor last page', (paging) => {
  expect(readPaging({ paging })).toEqual({ total: undefined, lastPage: undefined });
});

test('a retry waits for a random part of the exponential delay, or for the delay that the service requests', () => {
  const policy = { retryMinDelayMs: 1_000, retryMaxDelayMs: 60_000, random: () => 0.5 };
  expect([1, 2, 3, 6, 7, 8].map((attempt) => drawRetryDelayMs(policy, attempt))).toEqual([
    500, 1_000, 2_000, 16_000, 30_000, 30_000,
  ]);
  expect(drawRetryDelayMs({ ...policy, random: () => 0 }, 5)).toBe(0);
  expect(drawRetryDelayMs(policy, 1, 10_000)).toBe(10_000);
  expect(drawRetryDelayMs(policy, 1, 3_600_000)).toBe(60_000);
});
