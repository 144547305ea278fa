/** Asks how much history there is, and cuts it into slices. */
import { type BackfillPlan, type LedgerScope, noteSlice, writePlan } from './ledger.ts';
import { EARLIEST_MS, planSlices } from './cut-slices.ts';
import { readCreationOrder, toCreationFilters, watermarkOf } from '../reading/creation-slice.ts';
import type { BackfillRange, ExtractContext } from '../reading/extract.ts';
import { fetchPage, isRefusedPage, type Page } from '../reading/pages.ts';
import { nextWatermark } from '../reading/service-clock.ts';
import type { SliceReader } from '../reading/slice-reader.ts';
import { toLedgerSlice } from './slice-worker.ts';

/** The last page of a newest-first list tells where creation time begins. */
async function findOldest(context: ExtractContext, first: Page, { range, sliceRecords }: PlanOptions) {
  const pageSize = first.records.length;
  const page = first.answer.paging?.lastPage;
  const isOneSlice = (first.answer.paging?.total ?? 0) <= sliceRecords;
  if (page === undefined || page < 2 || isOneSlice) return undefined;
  const filters = toCreationFilters({ from: range.fromMs, to: range.toMs });
  try {
    const last = await fetchPage(context, { limit: pageSize, page, ...filters });
    return readCreationOrder(last.records)?.oldestMs;
  } catch (error) {
    if (isRefusedPage(error)) return undefined;
    throw error;
  }
}

export interface MadePlan {
  readonly plan: BackfillPlan;
  /** Records in its range; undefined when the service does not say. */
  readonly total: number | undefined;
}

export interface PlanOptions {
  readonly scope: LedgerScope;
  readonly range: BackfillRange;
  readonly reader: SliceReader;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
}

/** Asks how much there is and writes the plan. A range that one answer holds is stored at once. */
export async function makePlan(context: ExtractContext, options: PlanOptions): Promise<MadePlan> {
  const { scope, range, reader, sliceRecords } = options;
  const { session, clock, loader } = context;
  const first = await reader.ask({ from: range.fromMs, to: range.toMs });
  const answerClock = { answerMs: first.answer.serviceTimeMs, ourMs: clock.now() };
  const plan: BackfillPlan = {
    ...range,
    watermark: nextWatermark(null, watermarkOf(first.records, answerClock), answerClock),
  };
  const order = readCreationOrder(first.records);
  const total = first.answer.paging?.total;
  const newestMs = order?.newestMs ?? first.answer.serviceTimeMs ?? clock.now();
  if (total !== undefined && first.records.length >= total) {
    const slices = planSlices({ ...range, total, oldestMs: newestMs, newestMs, sliceRecords });
    await loader.add(first.records, {});
    await context.checkpoint(async (tx) => {
      await writePlan(tx, scope, { plan, slices });
      for (const slice of slices) {
        const done = { ...toLedgerSlice(slice), status: 'done' as const, readToMs: slice.fromMs };
        await noteSlice(tx, scope, { ...done, expected: total, records: first.records.length });
      }
    });
    return { plan, total };
  }
  const oldestMs = (await findOldest(context, first, options)) ?? range.fromMs ?? EARLIEST_MS;
  const slices = planSlices({ ...range, total: total ?? 0, oldestMs, newestMs, sliceRecords });
  await session.transaction((tx) => writePlan(tx, scope, { plan, slices }));
  return { plan, total };
}
