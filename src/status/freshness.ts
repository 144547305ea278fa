/** Is a stream as fresh as promised? Pure. */
import { MINUTE_MS } from '../shared/time.ts';
import { streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';

export type Freshness = 'fresh' | 'stale' | 'never';

/** Times in ms since 1970; null: never, or not known. */
export interface LastKnown {
  readonly lastSuccessMs: number | null;
  /**
   * Up to when the service itself would have answered the same. While its cache of the training calculation explains that
   * nothing is asked, the data is not out of date.
   */
  readonly currentUntilMs: number | null;
}

/**
 * When a stream last succeeded, of the successes of all streams of its account. A look-up asks for the people that the
 * other streams have named: one that found nobody to ask for has heard nothing from the service, so it counts only up to
 * the newest success of those.
 */
export function lastSuccessOf(
  stream: StreamName,
  successes: ReadonlyMap<StreamName, number | null>,
): number | null {
  const own = successes.get(stream) ?? null;
  if (own === null || !isLookup(stream)) return own;
  const others = [...successes].flatMap(([name, ms]) => (ms === null || isLookup(name) ? [] : [ms]));
  return others.length === 0 ? null : Math.min(own, Math.max(...others));
}

const isLookup = (stream: StreamName): boolean => streamNamed(stream).reading.kind === 'lookup';

export function freshnessOf(
  { lastSuccessMs, currentUntilMs }: LastKnown,
  nowMs: number,
  budgetMinutes: number,
): Freshness {
  if (lastSuccessMs === null) return 'never';
  const currentMs = Math.max(lastSuccessMs, currentUntilMs ?? lastSuccessMs);
  return nowMs - currentMs > budgetMinutes * MINUTE_MS ? 'stale' : 'fresh';
}
