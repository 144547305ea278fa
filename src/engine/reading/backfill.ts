/**
 * Reads every follow-up, or those of a range of creation time, and has the ledger record how far it came: the first sync, and
 * `backfill`. Slices only let several requests be in flight; each is one walk, and is resumed where it was cut off.
 */
import { ignoreRejection } from '../../shared/errors.ts';
import type { ListPage } from '../api/requests.ts';
import { type LedgerSlice, type TimeSlice, WHOLE_TIME } from '../streams/state.ts';
import { cutEvenly, isSameRange, toFilters, unreadSlice } from './creation-time.ts';
import type { FollowupRun } from './followup-run.ts';
import { timeOf } from './list.ts';
import { records, type RecordsStep, type Step, type Steps, writes } from './step.ts';
import { isInOrder, walk } from './walk.ts';
import { nextWatermark, readFirstResponse } from './watermark.ts';

/** Pages of a slice: with fewer, the partial pages at the ends of slices cost more than the concurrency gains. */
const SLICE_PAGES = 20;
/** Slices for each request in flight, because their numbers of records differ. */
const SLICES_PER_REQUEST = 4;

/** The last record of a list that is sorted newest first shows where creation time begins. Without it there is one slice. */
async function cut(run: FollowupRun, range: TimeSlice, newest: ListPage): Promise<TimeSlice[]> {
  const { sliceConcurrency } = run.read.settings;
  const { total = 0 } = newest.paging ?? {};
  const slices = Math.floor(total / run.pageSize / SLICE_PAGES);
  const count = Math.min(slices, SLICES_PER_REQUEST * sliceConcurrency);
  if (count <= 1) return [range];
  const oldest = await run.askPage({ ...toFilters(range), limit: 1, page: total });
  const [fromMs, toMs] = [oldest, newest].map(
    (one) => one?.records[0] && timeOf(one.records[0], 'created_on'),
  );
  return fromMs === undefined || toMs === undefined || fromMs >= toMs
    ? [range]
    : cutEvenly(range, { fromMs, toMs }, count);
}

/**
 * Continues a backfill of the same range that was cut off; else begins a new one. `watermark`: of its beginning. `isOnePage`:
 * it was not continued, and all of it was in one response, so hardly anything can have changed meanwhile.
 */
export async function* readBackfill(
  run: FollowupRun,
): Steps<{ watermark: number | null; isOnePage: boolean }> {
  const { range = WHOLE_TIME, restart = false, settings, service, warehouse } = run.read;
  const { plan, ...ledger } = await warehouse.readLedger();
  let slices = [...ledger.slices];
  let watermark = plan?.watermark ?? null;
  let isOnePage = false;
  const newest = await run.askPage(toFilters(range));
  const isNew = plan === undefined || restart || watermark === null || !isSameRange(plan, range);
  if (isNew) {
    watermark = nextWatermark(null, newest && readFirstResponse(newest, service.clock.now()));
    const ranges = newest ? await cut(run, range, newest) : [range];
    slices = ranges.map((one) => unreadSlice(one, 'pending'));
    isOnePage = newest !== undefined && newest.records.length === newest.paging?.total;
    yield writes({ kind: 'plan', plan: { ...range, watermark } });
    yield writes(...slices.map((slice) => ({ kind: 'slice', slice }) as const));
    yield { kind: 'commit' };
  }
  const toProgress = () => ({
    records: slices.reduce((sum, slice) => sum + slice.records, 0),
    total: newest?.paging?.total ?? null,
    slicesDone: slices.filter(({ status }) => status === 'done').length,
  });

  async function* readSlice(begun: LedgerSlice, at: number): Steps {
    let slice = begun;
    const change = (to: Partial<LedgerSlice>): Pick<RecordsStep, 'writes' | 'progress'> => {
      slice = slices[at] = { ...slice, ...to };
      return { writes: [{ kind: 'slice', slice }], progress: toProgress() };
    };
    // Unless it reaches below the newest slice. Its total is that of all slices.
    const isOfSlice = isNew && at === 0 && newest !== undefined && isInOrder(newest.records, begun);
    const { first } = yield* walk(run, begun, {
      newest: isOfSlice ? { ...newest, paging: slices.length === 1 ? newest.paging : undefined } : undefined,
      begun,
      note: ({ expected, ...reached }) => change({ ...reached, expected: slice.expected ?? expected }),
    });
    watermark ??= nextWatermark(null, first);
    yield { ...records([]), ...change({ status: 'done' }) };
  }

  const open = slices.flatMap((slice, at) => (slice.status === 'pending' ? [readSlice(slice, at)] : []));
  yield* readSideBySide(open, settings.sliceConcurrency);
  // It stays if a request fails after it.
  yield { kind: 'commit' };
  return { watermark, isOnePage };
}

/** Yields the steps of several readers as they arrive. Each reader is one step ahead of the consumer. */
async function* readSideBySide(readers: readonly Steps[], width: number): AsyncGenerator<Step, void> {
  const waiting = [...readers];
  const running = new Map<Steps, Promise<{ reader: Steps; next: IteratorResult<Step, void> }>>();
  /** At the end of the map, so that the others are taken first where several have a step. */
  const advance = (reader: Steps): void => {
    running.delete(reader);
    running.set(reader, ignoreRejection(reader.next().then((next) => ({ reader, next }))));
  };
  for (;;) {
    waiting.splice(0, width - running.size).forEach(advance);
    if (running.size === 0) return;
    const { reader, next } = await Promise.race(running.values());
    if (next.done === true) running.delete(reader);
    else {
      advance(reader);
      yield next.value;
    }
  }
}
