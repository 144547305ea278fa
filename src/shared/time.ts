/** Time as an argument: everything that asks for the time is given a clock. */
export interface Clock {
  /** ms since 1970-01-01 UTC by this machine, which may be hours off. */
  now(): number;
  /** ms on a clock that never jumps; only differences mean something. */
  monotonicMs(): number;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};
