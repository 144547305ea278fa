/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import { watermarkOf } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import type { Extract } from './extract.ts';
import { createSliceReader } from './slice-reader.ts';

/**
 * `updated_after` is exclusive: one millisecond less, so that a second change within the watermark's own millisecond
 * is read. The overlap behind it is for changes that became visible later than their time says.
 */
export function updatedAfter(watermarkMs: number, overlapMs: number): number {
  return Math.max(0, watermarkMs - overlapMs - 1);
}

/** The watermark never goes back. */
function later(storedMs: number | null, seenMs: number | undefined): number | null {
  return seenMs === undefined ? storedMs : Math.max(storedMs ?? seenMs, seenMs);
}

export const extractIncremental: Extract = async (context) => {
  const { stream, state, settings, clock, kind } = context;
  if (stream.reading.kind !== 'incremental') throw new TypeError(`${stream.name} is not incremental`);
  const filters: Record<string, number> =
    state.watermarkMs === null || kind !== 'sync'
      ? {}
      : { updated_after: updatedAfter(state.watermarkMs, settings.followupsOverlapMs) };
  let seenMs: number | undefined;
  const whole = { from: null, to: null };
  const failure = await walkCreation(whole, {
    reader: createSliceReader(context, { pageSize: stream.reading.pageSize, filters }),
    pass: ({ records }) => context.loader.add(records, {}),
    onFirstPage: ({ records, answer }) => {
      seenMs = watermarkOf(records, answer.serviceTimeMs ?? clock.now());
    },
  });
  return {
    outcome: 'read',
    covered: null,
    // What came is stored; what did not come must be asked for again, so the watermark stays.
    state: failure === null ? { watermarkMs: later(state.watermarkMs, seenMs) } : {},
    note: null,
    failure,
  };
};
