import type { Clock } from '../../src/shared/time.ts';

/** 2026-03-02T12:00:00Z */
export const NOON = Date.UTC(2026, 2, 2, 12);

/** A clock that only the test moves. */
export interface TestTime {
  now: number;
}

/** A machine's clock that shows this time, with an offset. */
export function clockOf(time: TestTime, offByMs = 0): Clock {
  return { now: () => time.now + offByMs, monotonicMs: () => performance.now() };
}
