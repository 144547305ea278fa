/** Is a stream as fresh as promised? Pure. */
import { MINUTE_MS } from '../shared/time.ts';

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

export function freshnessOf(
  { lastSuccessMs, currentUntilMs }: LastKnown,
  nowMs: number,
  budgetMinutes: number,
): Freshness {
  if (lastSuccessMs === null) return 'never';
  const currentMs = Math.max(lastSuccessMs, currentUntilMs ?? lastSuccessMs);
  return nowMs - currentMs > budgetMinutes * MINUTE_MS ? 'stale' : 'fresh';
}
