/** The watermark, up to which all changes are stored. Pure; times in ms since 1970, by the service's clock. */
import type { ListPage } from '../api/requests.ts';
import { timeOf } from './list.ts';

/** Times in the first response of a read. */
export interface FirstResponse {
  /** Its latest `updated_on`: the service sent it, so it had made every change up to then. undefined: no usable one. */
  readonly seenMs: number | undefined;
  /** Its Date; the worker's clock where it has none. */
  readonly timeMs: number;
}

/** An `updated_on` after the response's own time is an error of the data: the latest one that is not counts, else its Date. */
export function readFirstResponse({ records, serviceTimeMs }: ListPage, ourMs: number): FirstResponse {
  const timeMs = serviceTimeMs ?? ourMs;
  const updated = records.flatMap((record) => timeOf(record, 'updated_on') ?? []);
  const latest = Math.max(...updated.filter((ms) => ms <= timeMs));
  const onlyErrors = updated.length > 0 ? serviceTimeMs : undefined;
  return { seenMs: Number.isFinite(latest) ? latest : onlyErrors, timeMs };
}

/** Never after the time of the first response; the stored one if there was none. */
export function nextWatermark(stored: number | null, first: FirstResponse | undefined): number | null {
  const { seenMs = -Infinity, timeMs } = first ?? { timeMs: Infinity };
  const ms = Math.min(Math.max(stored ?? -Infinity, seenMs), timeMs);
  return Number.isFinite(ms) ? ms : null;
}
