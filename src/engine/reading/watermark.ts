/** The watermark, up to which all changes are stored. Pure; times in ms since 1970, by the service's clock. */
import type { ListPage } from '../api/requests.ts';
import { timeOf } from './list.ts';

/** Times in the first response of a read. */
export interface FirstResponse {
  /** Its latest `updated_on`: the service sent it, so it had made every change up to then. -Infinity: no usable one. */
  readonly seenMs: number;
  /** Its Date; the worker's clock where it has none. */
  readonly timeMs: number;
}

/** An `updated_on` after the response's own time is an error of the data, and does not count. */
export function readFirstResponse({ records, serviceTimeMs }: ListPage, ourMs: number): FirstResponse {
  const timeMs = serviceTimeMs ?? ourMs;
  const updated = records.flatMap((record) => timeOf(record, 'updated_on') ?? []);
  const seenMs = Math.max(...updated.filter((ms) => ms <= timeMs));
  return { seenMs, timeMs };
}

/** Never after the time of the first response; the stored one if there was none. */
export function nextWatermark(stored: number | null, first: FirstResponse | undefined): number | null {
  if (first === undefined) return stored;
  const ms = Math.min(Math.max(stored ?? -Infinity, first.seenMs), first.timeMs);
  return Number.isFinite(ms) ? ms : null;
}
