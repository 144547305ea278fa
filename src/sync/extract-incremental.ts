/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import type { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS } from '../shared/time.ts';
import { watermarkOf } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import type { BackfillRange, Extract, ExtractContext, Extraction } from './extract.ts';
import { readHistory } from './history.ts';
import { createSliceReader } from './slice-reader.ts';

const EVERYTHING: BackfillRange = { fromMs: null, toMs: null };
const WHOLE_TIME = { from: null, to: null };
/** A first sync that took longer reads what changed meanwhile before it ends. */
const LONG_MS = MINUTE_MS;

/**
 * `updated_after` is exclusive: one millisecond less, so that a second change within the watermark's own millisecond
 * is read. The overlap behind it is for changes that became visible later than their time says.
 */
export function updatedAfter(watermarkMs: number, overlapMs: number): number {
  return Math.max(0, watermarkMs - overlapMs - 1);
}

/** The watermark never goes back. */
function later(storedMs: number | null, seenMs: number | null | undefined): number | null {
  return seenMs === undefined || seenMs === null ? storedMs : Math.max(storedMs ?? seenMs, seenMs);
}

/** Adds what changed since the watermark; answers the next watermark, or what did not settle. */
async function readChanges(context: ExtractContext, watermarkMs: number, pageSize: number) {
  const filters = { updated_after: updatedAfter(watermarkMs, context.settings.followupsOverlapMs) };
  let seenMs: number | undefined;
  const failure = await walkCreation(WHOLE_TIME, {
    reader: createSliceReader(context, { pageSize, filters }),
    pass: async ({ records }) => {
      await context.loader.add(records, {});
      return undefined;
    },
    onFirstPage: ({ records, answer }) => {
      seenMs = watermarkOf(records, { answerMs: answer.serviceTimeMs, ourMs: context.clock.now() });
    },
  });
  return { failure, watermarkMs: later(watermarkMs, seenMs) };
}

function toExtraction(failure: SafetySyncError | null, watermarkMs: number | null): Extraction {
  // What came is stored; what did not come must be asked for again, so the watermark stays.
  return {
    outcome: 'read',
    covered: null,
    state: failure === null ? { watermarkMs } : {},
    note: null,
    failure,
  };
}

/** The first sync: the same mechanism as a backfill of everything, and continued like one. */
async function readFirst(context: ExtractContext, pageSize: number): Promise<Extraction> {
  const startedMs = context.clock.monotonicMs();
  const { plan, isResumed, failure } = await readHistory(context, { range: EVERYTHING, restart: false });
  const tookLong = context.clock.monotonicMs() - startedMs > LONG_MS;
  if (failure !== null || plan.watermarkMs === null || !(isResumed || tookLong)) {
    return toExtraction(failure, plan.watermarkMs);
  }
  const changes = await readChanges(context, plan.watermarkMs, pageSize);
  return toExtraction(changes.failure, changes.watermarkMs);
}

/** A backfill of everything knows all that the service had changed when it began, any other one does not. */
async function readBackfill(context: ExtractContext): Promise<Extraction> {
  const { range, restart, state } = context;
  const { plan, failure } = await readHistory(context, { range, restart });
  const isEverything = range.fromMs === null && range.toMs === null;
  return toExtraction(failure, isEverything ? later(state.watermarkMs, plan.watermarkMs) : state.watermarkMs);
}

/**
 * The full sweep. First what an incremental read would find, so that everything else which differs from here on is
 * something that incremental reads had missed, or a deletion, of which they never hear.
 */
async function readSweep(context: ExtractContext, pageSize: number): Promise<Extraction> {
  const before = context.state.watermarkMs;
  const changes = before === null ? null : await readChanges(context, before, pageSize);
  if (changes !== null) {
    if (changes.failure !== null) return toExtraction(changes.failure, before);
    await context.checkpoint(() => Promise.resolve());
  }
  let seenMs: number | undefined;
  const failure = await walkCreation(WHOLE_TIME, {
    reader: createSliceReader(context, { pageSize, filters: {} }),
    pass: async ({ records }) => {
      await context.loader.add(records, {});
      return undefined;
    },
    onFirstPage: ({ records, answer }) => {
      seenMs = watermarkOf(records, { answerMs: answer.serviceTimeMs, ourMs: context.clock.now() });
    },
  });
  const watermarkMs = later(changes?.watermarkMs ?? null, seenMs);
  return {
    outcome: 'read',
    covered: failure === null ? { column: null, values: [] } : null,
    state: failure === null ? { watermarkMs } : {},
    note: null,
    failure,
    ...(changes?.watermarkMs == null ? {} : { missedUpToMs: changes.watermarkMs }),
  };
}

export const extractIncremental: Extract = async (context) => {
  const { stream, state, kind } = context;
  if (stream.reading.kind !== 'incremental') throw new TypeError(`${stream.name} is not incremental`);
  const { pageSize } = stream.reading;
  switch (kind) {
    case 'backfill':
      return await readBackfill(context);
    case 'reconcile':
      return await readSweep(context, pageSize);
    case 'sync': {
      if (state.watermarkMs === null) return await readFirst(context, pageSize);
      const { failure, watermarkMs } = await readChanges(context, state.watermarkMs, pageSize);
      return toExtraction(failure, watermarkMs);
    }
  }
};
