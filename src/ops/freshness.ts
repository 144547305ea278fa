/** Is a stream as fresh as promised? Pure. */
import { MINUTE_MS } from '../shared/time.ts';

export type Freshness = 'fresh' | 'stale' | 'never';

export function freshnessOf(lastSuccessAt: string | null, nowMs: number, budgetMinutes: number): Freshness {
  if (lastSuccessAt === null) return 'never';
  return nowMs - Date.parse(lastSuccessAt) > budgetMinutes * MINUTE_MS ? 'stale' : 'fresh';
}
