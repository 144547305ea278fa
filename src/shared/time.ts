import { once } from 'node:events';
import { SafetySyncError } from './errors.ts';

/** Time as an argument: code that needs the time receives a clock. */
export type Clock = Readonly<typeof systemClock>;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const systemClock = {
  /** ms since 1970-01-01 UTC by this machine, which may be hours wrong. */
  now: () => Date.now(),
  /** ms on a clock that never jumps; only differences are meaningful. */
  monotonicMs: () => performance.now(),
};

/** ISO text, as JSON has it and PostgreSQL takes it; null (never) and undefined (not told) stay. */
export const toIso = <Ms extends number | null | undefined>(ms: Ms) =>
  (typeof ms === 'number' ? new Date(ms).toISOString() : ms) as string | Exclude<Ms, number>;

/**
 * ms since 1970 of an ISO text, or of PostgreSQL's own format. Error: `database_error` for a text in another DateStyle than
 * ISO, because `12.05.2026` would be read as the 5th of December.
 */
export function toMs(instant: string): number;
export function toMs(instant: string | null): number | null;
export function toMs(instant: string | null): number | null {
  if (instant === null) return null;
  // As ISO text, because Date.parse takes the year 0001 of any other format for 2001.
  const iso = instant.replace(/ (\S+[+-]\d\d)$/, 'T$1:00');
  const ms = /^\d{4}-\d\d-\d\d[ T]/.test(instant) ? Date.parse(iso) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new SafetySyncError('database_error', `PostgreSQL returned ${JSON.stringify(instant)} for a time`);
  }
  return ms;
}

/** The longest timeout of a Node.js timer; a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after this time, or as soon as the signal is aborted: a caller that must stop then checks the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true || ms <= 0) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    // Rounded up, because a timer that fires a fraction too early would have to be set again.
    const timer = setTimeout(done, Math.min(LONGEST_TIMER_MS, Math.ceil(ms)));
    signal?.addEventListener('abort', done);
  });
}

/** Resolves when the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

type InTime<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/** Waits for the work at most this long; the work goes on, and a failure after that is ignored. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<InTime<T>> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      work.then((value): InTime<T> => ({ inTime: true, value })),
      sleep(ms, ended.signal).then((): InTime<T> => ({ inTime: false })),
    ]);
  } finally {
    ended.abort();
  }
}
