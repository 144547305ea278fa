/** Follow-ups: everything at first, then what changed since the watermark (specification: followups.list). */
import type { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { ServiceTime } from '../streams/state.ts';
import { watermarkOf } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import type { BackfillRange, Extract, ExtractContext, Extraction } from './extract.ts';
import { readHistory } from '../backfill/backfill.ts';
import type { Page } from './pages.ts';
import { type AnswerClock, laterWatermark, nextWatermark, readFrom } from './service-clock.ts';
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

/** What the first answer of a walk tells. */
interface FirstAnswer {
  /** undefined: no record tells. */
  readonly seenMs: number | undefined;
  readonly clock: AnswerClock;
}

function readFirstAnswer({ records, answer }: Page, ourMs: number): FirstAnswer {
  const clock = { answerMs: answer.serviceTimeMs, ourMs };
  return { seenMs: watermarkOf(records, clock), clock };
}

interface Changes {
  /** What did not settle; null: everything was read. */
  readonly failure: SafetySyncError | null;
  readonly watermark: ServiceTime | null;
  readonly note: string | null;
}

/** Adds what changed since the watermark; answers the next one. */
async function readChanges(
  context: ExtractContext,
  watermark: ServiceTime,
  pageSize: number,
): Promise<Changes> {
  const { clock, loader, settings } = context;
  for (let fromMs = watermark.ms; ;) {
    const filters = { updated_after: updatedAfter(fromMs, settings.followupsOverlapMs) };
    let first: FirstAnswer | undefined;
    let earlierMs = fromMs;
    const failure = await walkCreation(WHOLE_TIME, {
      reader: createSliceReader(context, { pageSize, filters }),
      onFirstPage: (page) => {
        first = readFirstAnswer(page, clock.now());
        earlierMs = Math.min(fromMs, readFrom(watermark, first.clock));
      },
      pass: async ({ records }) => {
        await loader.add(records, {});
        return earlierMs < fromMs ? 'stop' : undefined;
      },
    });
    if (failure === null && earlierMs < fromMs) {
      // The first answer told that the service's clock went back: what it changed since then was not asked for.
      fromMs = earlierMs;
      continue;
    }
    const note =
      fromMs === watermark.ms
        ? null
        : `the service’s clock went back, or ours jumped ahead: read again from ${new Date(fromMs).toISOString()}`;
    const next = first === undefined ? watermark : nextWatermark(watermark, first.seenMs, first.clock);
    return { failure, watermark: next, note };
  }
}

function toExtraction({ failure, watermark, note }: Changes): Extraction {
  // What came is stored; what did not come must be asked for again, so the watermark stays.
  return { outcome: 'read', covered: null, state: failure === null ? { watermark } : {}, note, failure };
}

/** The first sync: the same mechanism as a backfill of everything, and continued like one. */
async function readFirst(context: ExtractContext, pageSize: number): Promise<Extraction> {
  const startedMs = context.clock.monotonicMs();
  const { plan, isResumed, failure } = await readHistory(context, { range: EVERYTHING, restart: false });
  const tookLong = context.clock.monotonicMs() - startedMs > LONG_MS;
  if (failure !== null || plan.watermark === null || !(isResumed || tookLong)) {
    return toExtraction({ failure, watermark: plan.watermark, note: null });
  }
  return toExtraction(await readChanges(context, plan.watermark, pageSize));
}

/** A backfill of everything knows all that the service had changed when it began, any other one does not. */
async function readBackfill(context: ExtractContext): Promise<Extraction> {
  const { range, restart, state } = context;
  const { plan, failure } = await readHistory(context, { range, restart });
  const isEverything = range.fromMs === null && range.toMs === null;
  const watermark = isEverything ? laterWatermark(state.watermark, plan.watermark) : state.watermark;
  return toExtraction({ failure, watermark, note: null });
}

/**
 * The full sweep. First what an incremental read would find, so that everything else which differs from here on is
 * something that incremental reads had missed, or a deletion, of which they never hear.
 */
async function readSweep(context: ExtractContext, pageSize: number): Promise<Extraction> {
  const before = context.state.watermark;
  const changes = before === null ? null : await readChanges(context, before, pageSize);
  if (changes !== null) {
    if (changes.failure !== null) return toExtraction(changes);
    await context.checkpoint(() => Promise.resolve());
  }
  let first: FirstAnswer | undefined;
  const failure = await walkCreation(WHOLE_TIME, {
    reader: createSliceReader(context, { pageSize, filters: {} }),
    pass: async ({ records }) => {
      await context.loader.add(records, {});
      return undefined;
    },
    onFirstPage: (page) => {
      first = readFirstAnswer(page, context.clock.now());
    },
  });
  const stored = changes?.watermark ?? null;
  const watermark = first === undefined ? stored : nextWatermark(stored, first.seenMs, first.clock);
  return {
    outcome: 'read',
    covered: failure === null ? { column: null, values: [] } : null,
    state: failure === null ? { watermark } : {},
    note: changes?.note ?? null,
    failure,
    ...(stored === null ? {} : { missedUpToMs: stored.ms }),
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
      if (state.watermark === null) return await readFirst(context, pageSize);
      return toExtraction(await readChanges(context, state.watermark, pageSize));
    }
  }
};
