/** Asks how much there is, and cuts it into slices. */
import { readCreationOrder, toCreationFilters, watermarkOf } from '../reading/creation-slice.ts';
import { fetchPage, isRefusedPage, type Page } from '../reading/pages.ts';
import type { BackfillRange, ReadRequest } from '../reading/read-request.ts';
import { nextWatermark } from '../reading/service-clock.ts';
import type { SliceReader } from '../reading/slice-reader.ts';
import { records, type Steps } from '../reading/step.ts';
import type { BackfillPlan, LedgerSlice } from '../streams/state.ts';
import { EARLIEST_MS, planSlices } from './cut-slices.ts';
import { toLedgerSlice } from './slice.ts';

/** The last page of a newest-first list tells where creation time begins. */
async function findOldest(read: ReadRequest, first: Page, { range, sliceRecords }: PlanOptions) {
  const pageSize = first.records.length;
  const page = first.response.paging?.lastPage;
  const isOneSlice = (first.response.paging?.total ?? 0) <= sliceRecords;
  if (page === undefined || page < 2 || isOneSlice) return undefined;
  const filters = toCreationFilters({ from: range.fromMs, to: range.toMs });
  try {
    const last = await fetchPage(read, { limit: pageSize, page, ...filters });
    return readCreationOrder(last.records)?.oldestMs;
  } catch (error) {
    if (isRefusedPage(error)) return undefined;
    throw error;
  }
}

interface MadePlan {
  readonly plan: BackfillPlan;
  readonly slices: readonly LedgerSlice[];
  /** Records in its range; undefined when the service does not say. */
  readonly total: number | undefined;
}

interface PlanOptions {
  readonly range: BackfillRange;
  readonly reader: SliceReader;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
}

/** Yields the plan, which is stored before anything of it is read. A range that one response holds is read at once. */
export async function* makePlan(read: ReadRequest, options: PlanOptions): Steps<MadePlan> {
  const { range, reader, sliceRecords } = options;
  const { clock } = read.service;
  const { page: first, shortfall } = await reader.ask({ from: range.fromMs, to: range.toMs });
  if (shortfall !== null) throw shortfall;
  const responseClock = { serviceMs: first.response.serviceTimeMs, ourMs: clock.now() };
  const plan: BackfillPlan = {
    ...range,
    watermark: nextWatermark(null, watermarkOf(first.records, responseClock), responseClock),
  };
  const order = readCreationOrder(first.records);
  const total = first.response.paging?.total;
  const newestMs = order?.newestMs ?? first.response.serviceTimeMs ?? clock.now();
  const isWhole = total !== undefined && first.records.length >= total;
  const oldestMs = isWhole
    ? newestMs
    : ((await findOldest(read, first, options)) ?? range.fromMs ?? EARLIEST_MS);
  const parts = planSlices({ ...range, total: total ?? 0, oldestMs, newestMs, sliceRecords });
  const slices = parts.map((part): LedgerSlice => {
    const slice = toLedgerSlice(part);
    return isWhole
      ? { ...slice, status: 'done', readToMs: part.fromMs, expected: total, records: first.records.length }
      : slice;
  });
  const done = slices.filter(({ status }) => status === 'done');
  yield {
    ...records(isWhole ? first.records : []),
    notes: [
      { kind: 'plan', plan, slices: parts },
      ...done.map((slice) => ({ kind: 'slice', slice }) as const),
    ],
  };
  yield { kind: 'commit' };
  return { plan, slices, total };
}
