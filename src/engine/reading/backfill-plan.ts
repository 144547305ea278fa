/** Plans a backfill: finds out how many records there are, and cuts creation time into slices. Times in ms since 1970, `to` exclusive. */
import type { ListPage } from '../api/requests.ts';
import type { BackfillPlan, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { boundOr, cutEvenly, FAILING_TIME, readCreationOrder, toCreationFilters } from './creation-slice.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import { fetchPage, isRefused } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import type { SliceReader, SliceResponse } from './slice-reader.ts';
import { records, type Steps } from './step.ts';
import { nextWatermark, readFirstResponse } from './watermark.ts';

/** The fewest pages of a slice. */
const SLICE_PAGES = 5;
/** Pages that a reader loses if the worker is killed: the one that is being stored, and the next one. */
const PAGES_IN_HAND = 2;

/** Records of a slice: at most these are read again after the worker was killed. */
export const sliceRecordsFor = (readers: number, pageSize: number): number =>
  Math.max(SLICE_PAGES, PAGES_IN_HAND * readers) * pageSize;

export function toPending({ fromMs, toMs }: TimeSlice, failures = 0): LedgerSlice {
  return { fromMs, toMs, status: 'pending', readToMs: toMs, expected: null, records: 0, failures };
}

export function toDone({ fromMs, toMs }: TimeSlice, count: number): LedgerSlice {
  return { fromMs, toMs, status: 'done', readToMs: fromMs, expected: count, records: count, failures: 0 };
}

/** The last page of a newest-first list shows where creation time begins; undefined: it cannot be read. */
async function findOldest(read: ReadRequest, range: TimeSlice, first: ListPage): Promise<number | undefined> {
  const page = first.paging?.lastPage;
  if (page === undefined || page < 2) return undefined;
  try {
    const last = await fetchPage(read, { limit: first.records.length, page, ...toCreationFilters(range) });
    return readCreationOrder(last.records)?.oldestMs;
  } catch (error) {
    if (isRefused(error) || isRequestSpecific(error)) return undefined;
    throw error;
  }
}

/** A plan needs one record of the range. If the request for the newest record fails, another record is requested. */
async function fetchFirst(range: TimeSlice, reader: SliceReader): Promise<SliceResponse> {
  try {
    return await reader.fetch(range);
  } catch (error) {
    const page = isRequestSpecific(error) ? await reader.fetchNewestOf(range) : undefined;
    if (page === undefined || page.records.length === 0) throw error;
    return { page, distinct: 1, shortfall: null };
  }
}

export interface MadePlan {
  readonly plan: BackfillPlan;
  readonly slices: readonly LedgerSlice[];
  /** Records in its range; undefined when the service returns no total. */
  readonly total: number | undefined;
  /** Planned number of records in a slice. */
  readonly sliceRecords: number;
  /** One response held all records, and they were yielded. */
  readonly isRead: boolean;
}

/**
 * Yields the plan, which is stored before its slices are read. A range that fits into one response is read at once. A slice
 * with an open hole stays a hole until it is read, because the watermark is past the changes of its records.
 */
export async function* makePlan(read: ReadRequest, range: TimeSlice, reader: SliceReader): Steps<MadePlan> {
  const { clock } = read.service;
  const { page: first, distinct, shortfall } = await fetchFirst(range, reader);
  if (shortfall !== null) {
    // No plan is made, but the received records are stored, because the text of `read_incomplete` promises that.
    yield { ...records(first.records), writes: [] };
    yield { kind: 'commit' };
    throw shortfall;
  }
  const watermark = nextWatermark(null, readFirstResponse(first, clock.now()));
  const plan: BackfillPlan = { ...range, watermark };
  const newestMs = readCreationOrder(first.records)?.newestMs ?? first.serviceTimeMs ?? clock.now();
  const total = first.paging?.total;
  // Where the oldest slice of a plan without a lower bound begins in the ledger; its request has no lower bound.
  const bottom = boundOr(range.fromMs, FAILING_TIME.fromMs);
  const isRead = total !== undefined && distinct >= total;
  // A service with smaller pages gets smaller slices; a single record is the one that `probe` found.
  const pageRecords = first.records.length > 1 ? first.records.length : reader.pageSize;
  const sliceRecords = sliceRecordsFor(read.settings.sliceConcurrency, pageRecords);
  const isOneSlice = (total ?? 0) <= sliceRecords;
  const oldestMs = (isOneSlice ? undefined : await findOldest(read, range, first)) ?? bottom;
  // As if the records were spread evenly; a slice that turns out too large is cut again.
  const top = boundOr(range.toMs, Math.floor(newestMs) + 1);
  const busyFrom = Math.min(Math.max(bottom, Math.floor(oldestMs)), top - 1);
  const ranges = cutEvenly({ fromMs: busyFrom, toMs: top }, Math.ceil((total ?? 0) / sliceRecords)).map(
    (one) => (one.fromMs === busyFrom ? { ...one, fromMs: Math.min(bottom, busyFrom) } : one),
  );
  const holes = (await read.warehouse.readHoles()).map(({ slice }) => slice);
  const hasHole = (one: TimeSlice) => holes.some((hole) => hole.fromMs < one.toMs && one.fromMs < hole.toMs);
  const slices = ranges.map((one) => (isRead ? toDone(one, distinct) : toPending(one, hasHole(one) ? 1 : 0)));
  yield { ...records(isRead ? first.records : []), writes: [{ kind: 'plan', plan, slices }] };
  yield { kind: 'commit' };
  return { plan, slices, total, sliceRecords, isRead };
}
