/**
 * Reads every follow-up, or those of a range of creation time, and has the ledger record how far it came: the first sync, and
 * `backfill`. Slices only let several requests be in flight; each is one walk, and is resumed where it was cut off.
 */
import { ignoreRejection, SafetySyncError } from '../../shared/errors.ts';
import type { BackfillPlan, LedgerSlice, TimeSlice } from '../streams/state.ts';
import { cutEvenly, isSameRange, ofLedger, toFilters, toLedger, WHOLE_TIME } from './creation-time.ts';
import type { FollowupList, Newest } from './followup-list.ts';
import { type FollowupRun, readWalk } from './followup-run.ts';
import { timeOf } from './record-fields.ts';
import { records, type RecordsStep, type Steps, writes } from './step.ts';
import { isNewestFirst } from './walk.ts';
import { nextWatermark, readFirstResponse } from './watermark.ts';

/** Pages of a slice: with fewer, the partial pages at the ends of slices cost more than the concurrency gains. */
const SLICE_PAGES = 20;
/** Slices for each request in flight, because their numbers of records differ. */
const SLICES_PER_REQUEST = 4;

const countSlices = (pages: number, concurrency: number): number =>
  Math.max(1, Math.min(Math.floor(pages / SLICE_PAGES), SLICES_PER_REQUEST * concurrency));

/** Whether a backfill continues an interrupted one. */
const isResumable = (
  plan: BackfillPlan | undefined,
  { range, restart }: { readonly range: TimeSlice; readonly restart: boolean },
): plan is BackfillPlan =>
  plan !== undefined && !restart && plan.watermark !== null && isSameRange(plan, range);

interface MadePlan {
  readonly plan: BackfillPlan;
  readonly slices: readonly LedgerSlice[];
  /** The newest records of the range; undefined: the plan is resumed, or the service fails for the newest one. */
  readonly newest?: Newest;
}

function toPending(range: TimeSlice): LedgerSlice {
  const ends = toLedger(range);
  return { ...ends, status: 'pending', readToMs: ends.toMs, expected: null, records: 0 };
}

/** The last page of a list that is sorted newest first shows where creation time begins. */
async function cut(
  list: FollowupList,
  range: TimeSlice,
  { page: { records: newest, paging } }: Newest,
  concurrency: number,
): Promise<TimeSlice[]> {
  const pages = (paging?.total ?? 0) / Math.max(1, newest.length);
  const count = countSlices(pages, concurrency);
  const lastPage = paging?.lastPage;
  if (count === 1 || lastPage === undefined || !isNewestFirst(newest, WHOLE_TIME)) return [range];
  const last = await list.ask({ ...toFilters(range), limit: list.pageSize, page: lastPage });
  const [fromMs, toMs] = [last.records.at(-1), newest[0]].map((one) => one && timeOf(one, 'created_on'));
  return fromMs === undefined || toMs === undefined || fromMs >= toMs
    ? [range]
    : cutEvenly(range, { fromMs, toMs }, count);
}

async function* makePlan(
  { read: { settings, service }, list }: FollowupRun,
  range: TimeSlice,
): Steps<MadePlan> {
  const newest = await list.askNewest(toFilters(range));
  const isKnown = !(newest instanceof SafetySyncError);
  const watermark = isKnown ? nextWatermark(null, readFirstResponse(newest.page, service.clock.now())) : null;
  const plan = { ...range, watermark };
  const ranges = isKnown ? await cut(list, range, newest, settings.sliceConcurrency) : [range];
  const slices = ranges.map(toPending);
  yield writes({ kind: 'plan', plan, slices });
  yield { kind: 'commit' };
  return { plan, slices, ...(isKnown && { newest }) };
}

interface BackfillEnd {
  readonly watermark: number | null;
  /** It was read within one response: nothing can have changed meanwhile. */
  readonly isOneResponse: boolean;
}

/** Continues a backfill of the same range that was cut off; else begins a new one. */
export async function* readBackfill(run: FollowupRun): Steps<BackfillEnd> {
  const { read, list } = run;
  const { range = WHOLE_TIME, restart = false, settings, warehouse } = read;
  const stored = await warehouse.readLedger();
  const made: MadePlan = isResumable(stored.plan, { range, restart })
    ? { plan: stored.plan, slices: stored.slices }
    : yield* makePlan(run, range);
  const { plan, newest } = made;
  let { watermark } = plan;
  const slices = [...made.slices];
  let responses = 0;

  const total = newest === undefined ? await list.askTotal(toFilters(range)) : newest.page.paging?.total;
  const toProgress = () => ({
    records: slices.reduce((sum, slice) => sum + slice.records, 0),
    total: total ?? null,
    slicesDone: slices.filter(({ status }) => status === 'done').length,
  });

  async function* readSlice(at: number, begun: LedgerSlice): Steps {
    let slice = begun;
    const change = (to: Partial<LedgerSlice>): Pick<RecordsStep, 'writes' | 'progress'> => {
      slice = slices[at] = { ...slice, ...to };
      return { writes: [{ kind: 'slice', slice }], progress: toProgress() };
    };
    const start = {
      newest: at === 0 && slices.length === 1 ? newest : undefined,
      records: begun.records,
      ...(begun.readToMs < begun.toMs && { readToMs: begun.readToMs }),
    };
    const { first } = yield* readWalk(run, ofLedger(begun), start, (step) => {
      responses += 1;
      const readToMs = Math.max(step.readToMs, slice.fromMs);
      const expected = slice.expected ?? step.total ?? null;
      return { ...records(step.records), ...change({ readToMs, records: step.count, expected }) };
    });
    watermark ??= first === undefined ? null : nextWatermark(null, first);
    yield { ...records([]), ...change({ status: 'done' }) };
  }

  yield { ...records([]), progress: toProgress() };
  const open = slices.flatMap((slice, at) => (slice.status === 'pending' ? [readSlice(at, slice)] : []));
  try {
    yield* readSideBySide(open, settings.sliceConcurrency);
  } catch (error) {
    // What was read stays.
    yield { kind: 'commit' };
    throw error;
  }
  if (responses > 1) yield { kind: 'commit' };
  return { watermark, isOneResponse: newest !== undefined && responses === 1 };
}

/** Yields the steps of several readers as they arrive. Each reader is one step ahead of the consumer. */
async function* readSideBySide<Step>(
  readers: readonly AsyncGenerator<Step, void, undefined>[],
  width: number,
): AsyncGenerator<Step, void, undefined> {
  const waiting = [...readers];
  type Reader = (typeof waiting)[number];
  const running = new Map<Reader, Promise<{ reader: Reader; next: IteratorResult<Step, void> }>>();
  /** At the end of the map, so that the others are taken first where several have a step. */
  const advance = (reader: Reader): void => {
    running.delete(reader);
    running.set(reader, ignoreRejection(reader.next().then((next) => ({ reader, next }))));
  };
  for (;;) {
    for (const reader of waiting.splice(0, width - running.size)) advance(reader);
    if (running.size === 0) return;
    const { reader, next } = await Promise.race(running.values());
    if (next.done === true) running.delete(reader);
    else {
      advance(reader);
      yield next.value;
    }
  }
}
