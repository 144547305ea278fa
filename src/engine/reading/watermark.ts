/** The watermark, up to which all changes are stored. Pure; times in ms since 1970, by the service's clock. */
import type { ListPage } from '../api/requests.ts';
import { timeOf } from './list.ts';

export type FirstResponse = ReturnType<typeof readFirstResponse>;

/** Times in the first response of a read. `ourMs`: by the worker's clock, for a response without a Date. */
export function readFirstResponse({ records, serviceTimeMs }: ListPage, ourMs: number) {
  const timeMs = serviceTimeMs ?? ourMs;
  const updated = records.flatMap((record) => timeOf(record, 'updated_on') ?? []);
  return {
    timeMs,
    /**
     * Its latest `updated_on`: the service sent it, so it had made every change up to then. -Infinity: no usable one. A time
     * after the response's own is an error of the data, and does not count.
     */
    seenMs: Math.max(...updated.filter((ms) => ms <= timeMs)),
  };
}

/** Never after the time of the first response; the stored one if there was none. */
export function nextWatermark(stored: number | null, first: FirstResponse | undefined): number | null {
  if (first === undefined) return stored;
  const ms = Math.min(Math.max(stored ?? -Infinity, first.seenMs), first.timeMs);
  return Number.isFinite(ms) ? ms : null;
}
