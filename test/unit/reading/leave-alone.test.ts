import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/shared/time.ts';
import { leaveAloneMs } from '../../../src/engine/reading/lookup.ts';

test('the delay before a failing id is requested again grows with each failure, up to a week', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 500].map(leaveAloneMs)).toEqual([
    0,
    HOUR_MS,
    4 * HOUR_MS,
    16 * HOUR_MS,
    64 * HOUR_MS,
    7 * DAY_MS,
    7 * DAY_MS,
    7 * DAY_MS,
  ]);
});
