/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import { watermarkOf } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import type { Extract } from './extract.ts';

/**
 * `updated_after` is exclusive: one millisecond less, so that a second change within the watermark's own millisecond
 * is read. The overlap behind it is for changes that became visible later than their time says.
 */
export function updatedAfter(watermarkMs: number, overlapMs: number): number {
  return Math.max(0, watermarkMs - overlapMs - 1);
}

export const extractIncremental: Extract = async (context) => {
  const { stream, state, settings, clock, kind } = context;
  if (stream.reading.kind !== 'incremental') throw new TypeError(`${stream.name} is not incremental`);
  const everything = kind !== 'sync' || state.watermarkMs === null;
  const filters: Record<string, number> =
    everything || state.watermarkMs === null
      ? {}
      : { updated_after: updatedAfter(state.watermarkMs, settings.followupsOverlapMs) };
  let watermarkMs = state.watermarkMs;
  const whole = { from: null, to: null };
  const failure = await walkCreation(context, whole, {
    pageSize: stream.reading.pageSize,
    filters,
    onFirstPage: ({ records, answer }) => {
      const seen = watermarkOf(records, answer.serviceTimeMs ?? clock.now());
      if (seen !== undefined) watermarkMs = Math.max(watermarkMs ?? seen, seen);
    },
  });
  return {
    outcome: 'read',
    covered: null,
    // What came is stored; what did not come must be asked for again, so the watermark stays.
    state: failure === null ? { watermarkMs } : {},
    note: null,
    failure,
  };
};
