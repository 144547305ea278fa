/** Asks how much there is, and cuts creation time into slices. All times in ms since 1970, `to` exclusive. */
import type { ListPage } from '../api/requests.ts';
import type { BackfillPlan, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { isOfOneId } from './ask-user.ts';
import { type CreationSlice, readCreationOrder, toCreationFilters } from './creation-slice.ts';
import { fetchPage, isRefusedPage } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import type { SliceReader, SliceResponse } from './slice-reader.ts';
import { records, type Steps } from './step.ts';
import { nextWatermark, readFirstResponse } from './watermark.ts';

/** Pages of a slice at least: a handful. */
const SLICE_PAGES = 5;
/** What a reader can have in hand when the worker dies: a response that is being stored, and the next one. */
const PAGES_IN_HAND = 2;

/** Records of a slice that is worth planning: as many as may be lost and read again when the worker is killed. */
export function sliceRecordsFor({
  readers,
  pageSize,
}: {
  readonly readers: number;
  readonly pageSize: number;
}): number {
  return Math.max(SLICE_PAGES, PAGES_IN_HAND * readers) * pageSize;
}

/** The slice of a plan without a lower bound begins here; it is asked for without that bound. */
const EARLIEST_MS = 0;

/** A total is what the service says. One that is out of all proportion plans no more slices; a full one is cut again. */
const MOST_PARTS = 10_000;

/** Equal parts of the time from `fromMs` to `toMs`, newest first; fewer where the time is too short. */
export function cutEvenly({ fromMs, toMs }: TimeSlice, parts: number): TimeSlice[] {
  const count = Math.max(1, Math.min(parts, MOST_PARTS, Math.floor(toMs - fromMs)));
  const edges = Array.from({ length: count + 1 }, (_, index) =>
    index === count ? toMs : Math.floor(fromMs + ((toMs - fromMs) * index) / count),
  );
  return edges
    .slice(1)
    .map((end, index) => ({ fromMs: edges[index] ?? fromMs, toMs: end }))
    .reverse();
}

interface PlanRequest extends CreationSlice {
  /** Records in the range, as the service says. */
  readonly total: number;
  /** Of what was seen of the range. */
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
}

/** Slices of about `sliceRecords`, were the records spread evenly; those that turn out too large are cut again. */
function planSlices(request: PlanRequest): TimeSlice[] {
  const { fromMs, toMs, total, oldestMs, newestMs, sliceRecords } = request;
  const bottom = fromMs ?? EARLIEST_MS;
  const top = toMs ?? Math.floor(newestMs) + 1;
  const busyFrom = Math.min(Math.max(bottom, Math.floor(oldestMs)), top - 1);
  const slices = cutEvenly({ fromMs: busyFrom, toMs: top }, Math.ceil(total / sliceRecords));
  const oldest = slices.at(-1);
  return oldest === undefined
    ? []
    : [...slices.slice(0, -1), { fromMs: Math.min(bottom, busyFrom), toMs: oldest.toMs }];
}

export function toLedgerSlice({ fromMs, toMs }: TimeSlice): LedgerSlice {
  return { fromMs, toMs, status: 'pending', readToMs: toMs, expected: null, records: 0, failures: 0 };
}

/** The last page of a newest-first list tells where creation time begins. */
async function findOldest(read: ReadRequest, first: ListPage, { range, sliceRecords }: PlanOptions) {
  const pageSize = first.records.length;
  const page = first.paging?.lastPage;
  const isOneSlice = (first.paging?.total ?? 0) <= sliceRecords;
  if (page === undefined || page < 2 || isOneSlice) return undefined;
  const filters = toCreationFilters(range);
  try {
    const last = await fetchPage(read, { limit: pageSize, page, ...filters });
    return readCreationOrder(last.records)?.oldestMs;
  } catch (error) {
    if (isRefusedPage(error) || isOfOneId(error)) return undefined;
    throw error;
  }
}

/** Where the service fails for one of the newest records, any other one tells enough for a plan. */
async function askFirst(range: CreationSlice, reader: SliceReader): Promise<SliceResponse> {
  try {
    return await reader.ask(range);
  } catch (error) {
    const page = isOfOneId(error) ? await reader.probe(range) : undefined;
    if (page === undefined || page.records.length === 0) throw error;
    return { page, distinct: 1, shortfall: null };
  }
}

interface MadePlan {
  readonly plan: BackfillPlan;
  readonly slices: readonly LedgerSlice[];
  /** Records in its range; undefined when the service does not say. */
  readonly total: number | undefined;
  /** One response held all of it, and was taken: nothing is left to read. */
  readonly isRead: boolean;
}

interface PlanOptions {
  readonly range: CreationSlice;
  readonly reader: SliceReader;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
}

/** Yields the plan, which is stored before anything of it is read. A range that one response holds is read at once. */
export async function* makePlan(read: ReadRequest, options: PlanOptions): Steps<MadePlan> {
  const { range, reader, sliceRecords } = options;
  const { clock } = read.service;
  const { page: first, distinct, shortfall } = await askFirst(range, reader);
  if (shortfall !== null) throw shortfall;
  const plan: BackfillPlan = {
    ...range,
    watermark: nextWatermark(null, readFirstResponse(first, clock.now())),
  };
  const order = readCreationOrder(first.records);
  const total = first.paging?.total;
  const newestMs = order?.newestMs ?? first.serviceTimeMs ?? clock.now();
  const isWhole = total !== undefined && distinct >= total;
  const oldestMs = isWhole
    ? newestMs
    : ((await findOldest(read, first, options)) ?? range.fromMs ?? EARLIEST_MS);
  const parts = planSlices({ ...range, total: total ?? 0, oldestMs, newestMs, sliceRecords });
  const slices = parts.map((part): LedgerSlice => {
    const slice = toLedgerSlice(part);
    return isWhole
      ? { ...slice, status: 'done', readToMs: part.fromMs, expected: total, records: distinct }
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
  return { plan, slices, total, isRead: isWhole };
}
