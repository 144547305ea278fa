/**
 * The whole history of follow-ups, in disjoint slices of creation time with a ledger: the first sync, and `backfill`.
 * A slice goes on where it was cut off; what was stored is never asked for again. See docs/design.md.
 */
import { SafetySyncError } from '../shared/errors.ts';
import { type BackfillPlan, type LedgerScope, readSlices } from './ledger.ts';
import { sliceRecordsFor } from './cut-slices.ts';
import type { BackfillRange, ExtractContext } from '../reading/extract.ts';
import { makePlan } from './make-plan.ts';
import { findResumable, isOpen } from './resume.ts';
import { createSerialStore } from '../loading/serial-store.ts';
import { createSliceReader } from '../reading/slice-reader.ts';
import { giveUpOrHalve, type History, MOST_HALVINGS, readSlice } from './slice-worker.ts';

export interface HistoryOutcome {
  readonly plan: BackfillPlan;
  /** The ledger of an earlier attempt was continued. */
  readonly isResumed: boolean;
  /** Slices that did not settle; everything else is stored. */
  readonly failure: SafetySyncError | null;
}

/** Side by side, as many as there may be requests in flight; the first failure that is not of one slice ends them all. */
async function readAll(history: History): Promise<void> {
  const state = { hasFailed: false };
  const work = async (): Promise<void> => {
    let stored: Promise<void> = Promise.resolve();
    for (;;) {
      const next = history.queue.shift();
      if (next === undefined || state.hasFailed) {
        await stored;
        return;
      }
      try {
        // The next slice is begun while the last answers of this one are being stored.
        ({ stored } = await readSlice(history, next));
      } catch (error) {
        const isTooSlow = error instanceof SafetySyncError && error.code === 'request_timeout';
        if (isTooSlow && next.halvings < MOST_HALVINGS) {
          await giveUpOrHalve(history, { ...next, complaint: error });
        } else {
          state.hasFailed = true;
          throw error;
        }
      }
    }
  };
  // Slices that are cut while others are read need workers that have already found the queue empty: go round again.
  while (history.queue.length > 0) {
    const readers = Array.from({ length: history.context.settings.readers }, work);
    const results = await Promise.allSettled(readers);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

/** Continues what was cut off, if it has the same range; else begins anew. */
export async function readHistory(
  context: ExtractContext,
  { range, restart }: { readonly range: BackfillRange; readonly restart: boolean },
): Promise<HistoryOutcome> {
  const { stream, session, settings } = context;
  if (stream.reading.kind !== 'incremental') throw new TypeError(`${stream.name} has no history to slice`);
  const scope: LedgerScope = { accountId: settings.accountId, stream: stream.name };
  const { pageSize } = stream.reading;
  const reader = createSliceReader(context, { pageSize, filters: {} });
  const { sliceRecords = sliceRecordsFor({ readers: settings.readers, pageSize }) } = settings;
  const { db } = session.connection;
  const resumable = await findResumable(db, scope, {
    range,
    restart,
    watermarkMs: context.state.watermark?.ms ?? null,
  });
  const { plan, total } =
    resumable === undefined
      ? await makePlan(context, { scope, range, reader, sliceRecords })
      : { plan: resumable.plan, total: await reader.askTotal({ from: range.fromMs, to: range.toMs }) };
  const slices = resumable?.slices ?? (await readSlices(db, scope));
  const progress = {
    records: slices.reduce((sum, slice) => sum + slice.records, 0),
    total: total ?? null,
    slicesDone: slices.filter((slice) => !isOpen(slice)).length,
  };
  const history: History = {
    context,
    scope,
    plan,
    reader,
    store: createSerialStore(context),
    sliceRecords,
    queue: slices.filter(isOpen).map((slice) => ({ slice: { ...slice, status: 'pending' }, halvings: 0 })),
    failures: [],
    topMs: Math.max(...slices.map((slice) => slice.toMs)),
    bottomMs: Math.min(...slices.map((slice) => slice.fromMs)),
    tell: (records, slicesDone) => {
      progress.records += records;
      progress.slicesDone += slicesDone;
      context.onProgress?.({ ...progress });
    },
  };
  history.tell(0, 0);
  try {
    await readAll(history);
  } finally {
    await history.store.idle();
  }
  const [first, ...others] = history.failures;
  const more = others.length === 0 ? '' : ` (and ${others.length} more slices)`;
  return {
    plan,
    isResumed: resumable !== undefined,
    failure:
      first === undefined ? null : new SafetySyncError(first.code, first.message + more, { cause: first }),
  };
}
