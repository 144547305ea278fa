/**
 * The whole history of follow-ups, in disjoint slices of creation time with a ledger: the first sync, and `backfill`.
 * A slice goes on where it was cut off; what was stored is never asked for again. See docs/design.md.
 */
import { SafetySyncError } from '../shared/errors.ts';
import {
  type BackfillPlan,
  type LedgerScope,
  type LedgerSlice,
  noteSlice,
  readBackfillPlan,
  readSlices,
  replaceSlice,
  writePlan,
} from '../warehouse/backfill-ledger.ts';
import { cutEvenly, EARLIEST_MS, planSlices, SLICE_RECORDS, type TimeSlice } from './backfill-plan.ts';
import { type CreationSlice, readCreationOrder, watermarkOf } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import type { BackfillRange, ExtractContext } from './extract.ts';
import { fetchPage, isRefusedPage, type Page } from './page-reader.ts';
import { createSerialStore, type SerialStore } from './serial-store.ts';
import { createSliceReader, type SliceReader } from './slice-reader.ts';

/** A slice that does not settle is halved this often before it counts as failed. */
const MOST_HALVINGS = 3;

export interface HistoryOutcome {
  readonly plan: BackfillPlan;
  /** The ledger of an earlier attempt was continued. */
  readonly isResumed: boolean;
  /** Slices that did not settle; everything else is stored. */
  readonly failure: SafetySyncError | null;
}

interface Work {
  readonly slice: LedgerSlice;
  readonly halvings: number;
}

interface History {
  readonly context: ExtractContext;
  readonly scope: LedgerScope;
  readonly plan: BackfillPlan;
  readonly reader: SliceReader;
  readonly store: SerialStore;
  readonly queue: Work[];
  readonly failures: SafetySyncError[];
  /** The upper end of the newest slice. */
  readonly topMs: number;
  readonly tell: (records: number, slicesDone: number) => void;
}

const isOpen = (slice: LedgerSlice) => slice.status !== 'done';
const isSameRange = (plan: BackfillPlan, range: BackfillRange) =>
  plan.fromMs === range.fromMs && plan.toMs === range.toMs;

function toLedgerSlice({ fromMs, toMs }: TimeSlice): LedgerSlice {
  return { fromMs, toMs, status: 'pending', readToMs: toMs, expected: null, records: 0 };
}

/** What to ask for: the ends of an unbounded plan are open, whatever the ledger notes for them. */
function boundsOf({ plan, topMs }: Pick<History, 'plan' | 'topMs'>, slice: LedgerSlice): CreationSlice {
  const isTop = plan.toMs === null && slice.toMs === topMs && slice.readToMs === slice.toMs;
  const isBottom = plan.fromMs === null && slice.fromMs === EARLIEST_MS;
  return { from: isBottom ? null : slice.fromMs, to: isTop ? null : slice.readToMs };
}

/** The last page of a newest-first list tells where creation time begins. */
async function findOldest(context: ExtractContext, first: Page, range: BackfillRange, pageSize: number) {
  const page = first.answer.paging?.lastPage;
  if (page === undefined || page < 2) return undefined;
  const filters = {
    ...(range.fromMs === null ? {} : { created_after: range.fromMs - 1 }),
    ...(range.toMs === null ? {} : { created_before: range.toMs }),
  };
  try {
    const last = await fetchPage(context, { limit: pageSize, page, ...filters });
    return readCreationOrder(last.records)?.oldestMs;
  } catch (error) {
    if (isRefusedPage(error)) return undefined;
    throw error;
  }
}

/** Asks how much there is and writes the plan. A range that one answer holds is stored at once. */
async function makePlan(
  context: ExtractContext,
  scope: LedgerScope,
  range: BackfillRange,
  reader: SliceReader,
) {
  const { session, clock, loader, checkpoint } = context;
  const first = await reader.ask({ from: range.fromMs, to: range.toMs });
  const plan: BackfillPlan = {
    ...range,
    watermarkMs: watermarkOf(first.records, first.answer.serviceTimeMs ?? clock.now()) ?? null,
  };
  const order = readCreationOrder(first.records);
  const total = first.answer.paging?.total;
  const newestMs = order?.newestMs ?? first.answer.serviceTimeMs ?? clock.now();
  if (total !== undefined && first.records.length >= total) {
    const slices = planSlices({ ...range, total, oldestMs: newestMs, newestMs });
    await loader.add(first.records, {});
    await checkpoint(async (tx) => {
      await writePlan(tx, scope, { plan, slices });
      for (const slice of slices) {
        const done = { ...toLedgerSlice(slice), status: 'done' as const, readToMs: slice.fromMs };
        await noteSlice(tx, scope, { ...done, expected: total, records: first.records.length });
      }
    });
    return { plan, total };
  }
  const oldestMs =
    (await findOldest(context, first, range, first.records.length)) ?? range.fromMs ?? EARLIEST_MS;
  const slices = planSlices({ ...range, total: total ?? 0, oldestMs, newestMs });
  await session.transaction((tx) => writePlan(tx, scope, { plan, slices }));
  return { plan, total };
}

/** Reads one slice to its end, or until it turns out to be too large and is cut into smaller ones. */
async function readSlice(history: History, { slice, halvings }: Work): Promise<void> {
  const { context, scope, reader, store } = history;
  const bounds = boundsOf(history, slice);
  let state = slice;
  let stored: Promise<void> = Promise.resolve();
  let isCut = false;
  const note = (records: readonly unknown[], change: Partial<LedgerSlice>) => {
    state = { ...state, ...change, records: state.records + records.length };
    const snapshot = state;
    stored = store.store({ records, alsoStore: (tx) => noteSlice(tx, scope, snapshot) });
    // Awaited before the next answer is stored; until then a failure must not count as unhandled.
    stored.catch(() => undefined);
    history.tell(records.length, change.status === 'done' ? 1 : 0);
  };
  const unsettled = await walkCreation(bounds, {
    reader,
    onFirstPage: ({ answer }) => {
      const total = answer.paging?.total;
      if (total !== undefined && state.expected === null) state = { ...state, expected: total };
    },
    pass: async ({ records, remainingTo }) => {
      await stored;
      context.signal.throwIfAborted();
      const rest = state.expected === null ? 0 : state.expected - state.records - records.length;
      if (typeof remainingTo === 'number' && remainingTo > state.fromMs && rest > 2 * SLICE_RECORDS) {
        isCut = true;
        await cutRemainder(history, { state, records, remainingTo, rest, halvings });
        return 'stop';
      }
      note(
        records,
        typeof remainingTo === 'number' ? { readToMs: Math.min(state.readToMs, remainingTo) } : {},
      );
      return undefined;
    },
  });
  await stored;
  if (isCut) return;
  const complaint = unsettled ?? (await findShortfall(history, state, bounds));
  if (complaint === null) {
    note([], { status: 'done', readToMs: state.fromMs });
    await stored;
  } else {
    await giveUpOrHalve(history, { slice: state, halvings, complaint });
  }
}

/** Fewer distinct records than were announced when the slice was begun: deletions explain it, or nothing does. */
async function findShortfall(
  { context, reader }: History,
  state: LedgerSlice,
  bounds: CreationSlice,
): Promise<SafetySyncError | null> {
  if (state.expected === null || state.records >= state.expected) return null;
  const total = (await reader.askTotal({ from: bounds.from, to: state.toMs })) ?? 0;
  if (state.records >= total) return null;
  const why = `${total} records were announced, ${state.records} delivered`;
  return new SafetySyncError('read_incomplete', `${context.stream.method}: ${why}`);
}

/** The newest part of the slice is stored as a slice of its own; the rest becomes slices of the usual size. */
async function cutRemainder(
  history: History,
  cut: {
    state: LedgerSlice;
    records: readonly unknown[];
    remainingTo: number;
    rest: number;
    halvings: number;
  },
): Promise<void> {
  const { state, records, remainingTo } = cut;
  const parts = cutEvenly({ fromMs: state.fromMs, toMs: remainingTo }, Math.ceil(cut.rest / SLICE_RECORDS));
  const seen = state.records + records.length;
  const done: LedgerSlice = {
    fromMs: remainingTo,
    toMs: state.toMs,
    status: 'done',
    readToMs: remainingTo,
    expected: seen,
    records: seen,
  };
  await history.store.store({
    records,
    alsoStore: async (tx) => {
      await replaceSlice(tx, history.scope, { slice: state, parts: [done, ...parts] });
      await noteSlice(tx, history.scope, done);
    },
  });
  history.tell(records.length, 0);
  history.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: cut.halvings })));
}

async function giveUpOrHalve(
  history: History,
  { slice, halvings, complaint }: Work & { complaint: SafetySyncError },
): Promise<void> {
  const parts = cutEvenly(slice, 2);
  if (halvings < MOST_HALVINGS && parts.length === 2) {
    await history.store.store({
      records: [],
      alsoStore: (tx) => replaceSlice(tx, history.scope, { slice, parts }),
    });
    history.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: halvings + 1 })));
    return;
  }
  history.failures.push(complaint);
  await history.store.store({
    records: [],
    alsoStore: (tx) => noteSlice(tx, history.scope, { ...slice, status: 'failed' }),
  });
}

/** Side by side, as many as there may be requests in flight; the first failure that is not of one slice ends them all. */
async function readAll(history: History): Promise<void> {
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (;;) {
      const next = history.queue.shift();
      if (next === undefined || hasFailed) return;
      try {
        await readSlice(history, next);
      } catch (error) {
        const isTooSlow = error instanceof SafetySyncError && error.code === 'request_timeout';
        if (isTooSlow && next.halvings < MOST_HALVINGS) {
          await giveUpOrHalve(history, { ...next, complaint: error });
        } else {
          hasFailed = true;
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
  const reader = createSliceReader(context, { pageSize: stream.reading.pageSize, filters: {} });
  const { db } = session.connection;
  const before = await readBackfillPlan(db, scope);
  const isResumed =
    !restart && before !== null && isSameRange(before, range) && (await readSlices(db, scope)).some(isOpen);
  const { plan, total } = isResumed
    ? { plan: before, total: await reader.askTotal({ from: range.fromMs, to: range.toMs }) }
    : await makePlan(context, scope, range, reader);
  const slices = await readSlices(db, scope);
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
    queue: slices.filter(isOpen).map((slice) => ({ slice: { ...slice, status: 'pending' }, halvings: 0 })),
    failures: [],
    topMs: Math.max(...slices.map((slice) => slice.toMs)),
    tell: (records, slicesDone) => {
      progress.records += records;
      progress.slicesDone += slicesDone;
      context.onProgress?.({ ...progress });
    },
  };
  history.tell(0, 0);
  await readAll(history);
  const [first, ...others] = history.failures;
  const more = others.length === 0 ? '' : ` (and ${others.length} more slices)`;
  return {
    plan,
    isResumed,
    failure:
      first === undefined ? null : new SafetySyncError(first.code, first.message + more, { cause: first }),
  };
}
