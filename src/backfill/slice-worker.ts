/** Reads one slice of history to its end, noting in the ledger how far it is stored. */
import { SafetySyncError } from '../shared/errors.ts';
import { type BackfillPlan, type LedgerScope, type LedgerSlice, noteSlice, replaceSlice } from './ledger.ts';
import { cutEvenly, type TimeSlice } from './cut-slices.ts';
import { type CreationSlice, timeOf } from '../reading/creation-slice.ts';
import { walkCreation } from '../reading/creation-walk.ts';
import type { ExtractContext } from '../reading/extract.ts';
import type { Delivery, SerialStore } from '../loading/serial-store.ts';
import type { SliceReader } from '../reading/slice-reader.ts';

/** A slice that does not settle is halved this often before it counts as failed. */
export const MOST_HALVINGS = 3;

export interface Work {
  readonly slice: LedgerSlice;
  readonly halvings: number;
}

export interface History {
  readonly context: ExtractContext;
  readonly scope: LedgerScope;
  readonly plan: BackfillPlan;
  readonly reader: SliceReader;
  readonly store: SerialStore;
  /** Records of a slice that is worth planning. */
  readonly sliceRecords: number;
  readonly queue: Work[];
  readonly failures: SafetySyncError[];
  /** The upper end of the newest slice. */
  readonly topMs: number;
  /** The lower end of the oldest slice. */
  readonly bottomMs: number;
  readonly tell: (records: number, slicesDone: number) => void;
}

export function toLedgerSlice({ fromMs, toMs }: TimeSlice): LedgerSlice {
  return { fromMs, toMs, status: 'pending', readToMs: toMs, expected: null, records: 0 };
}

/** What to ask for: the ends of an unbounded plan are open, whatever the ledger notes for them. */
function boundsOf(
  { plan, topMs, bottomMs }: Pick<History, 'plan' | 'topMs' | 'bottomMs'>,
  slice: LedgerSlice,
): CreationSlice {
  const isTop = plan.toMs === null && slice.toMs === topMs && slice.readToMs === slice.toMs;
  const isBottom = plan.fromMs === null && slice.fromMs === bottomMs;
  return { from: isBottom ? null : slice.fromMs, to: isTop ? null : slice.readToMs };
}

/**
 * Reads one slice to its end, or until it turns out to be too large and is cut into smaller ones. `stored` resolves when
 * the last of it is stored.
 */
export async function readSlice(
  history: History,
  { slice, halvings }: Work,
): Promise<{ readonly stored: Promise<void> }> {
  const { scope, reader } = history;
  const bounds = boundsOf(history, slice);
  let state = slice;
  let stored: Promise<void> = Promise.resolve();
  const outcome = { isCut: false };
  /** Records that will not be read again. */
  let settled = slice.records;
  const note = (delivery: Delivery, change: Partial<LedgerSlice>) => {
    const { records } = delivery;
    state = { ...state, ...change, records: state.records + records.length };
    // Who goes on from here is shown the border again, and everything below it, and counts it then.
    if (change.readToMs !== undefined) settled = state.records - countAtBorder(records, change.readToMs);
    const snapshot = { ...state, records: settled };
    stored = delivery.store((tx) => noteSlice(tx, scope, snapshot));
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
      const delivery = history.store.deliver(records);
      await stored;
      const rest = state.expected === null ? 0 : state.expected - state.records - records.length;
      if (typeof remainingTo === 'number' && rest > 2 * history.sliceRecords) {
        const parts = cutEvenly(
          { fromMs: state.fromMs, toMs: remainingTo },
          Math.ceil(rest / history.sliceRecords),
        );
        if (isCuttable(state, remainingTo, parts)) {
          outcome.isCut = true;
          await cutRemainder(history, { state, delivery, remainingTo, parts, halvings });
          return 'stop';
        }
      }
      note(
        delivery,
        typeof remainingTo === 'number' ? { readToMs: Math.min(state.readToMs, remainingTo) } : {},
      );
      return undefined;
    },
  });
  if (outcome.isCut) return { stored };
  const complaint = unsettled ?? (await findShortfall(history, state, bounds));
  if (complaint === null) {
    note(history.store.deliver([]), { status: 'done', readToMs: state.fromMs });
  } else {
    await stored;
    await giveUpOrHalve(history, { slice: state, halvings, complaint });
  }
  return { stored };
}

/** Records in the last millisecond before a border: the next answer below it shows them once more. */
function countAtBorder(records: readonly unknown[], borderMs: number | undefined): number {
  if (borderMs === undefined) return 0;
  return records.filter((record) => timeOf(record, 'created_on') === borderMs - 1).length;
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

/** A slice whose first millisecond holds more than an answer shows no new border: cutting it must at least divide it. */
function isCuttable(state: LedgerSlice, remainingTo: number, parts: readonly TimeSlice[]): boolean {
  return remainingTo > state.fromMs && (remainingTo < state.toMs || parts.length > 1);
}

/** The newest part of the slice is stored as a slice of its own; the rest becomes slices of the usual size. */
async function cutRemainder(
  history: History,
  cut: {
    readonly state: LedgerSlice;
    readonly delivery: Delivery;
    readonly remainingTo: number;
    readonly parts: readonly TimeSlice[];
    readonly halvings: number;
  },
): Promise<void> {
  const { state, delivery, remainingTo, parts } = cut;
  const { records } = delivery;
  const seen = state.records + records.length - countAtBorder(records, remainingTo);
  const done: LedgerSlice = {
    fromMs: remainingTo,
    toMs: state.toMs,
    status: 'done',
    readToMs: remainingTo,
    expected: seen,
    records: seen,
  };
  const isNewestPartEmpty = remainingTo === state.toMs;
  await delivery.store(async (tx) => {
    await replaceSlice(tx, history.scope, {
      slice: state,
      parts: isNewestPartEmpty ? parts : [done, ...parts],
    });
    if (!isNewestPartEmpty) await noteSlice(tx, history.scope, done);
  });
  history.tell(records.length, 0);
  history.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: cut.halvings })));
}

export async function giveUpOrHalve(
  history: History,
  { slice, halvings, complaint }: Work & { complaint: SafetySyncError },
): Promise<void> {
  const parts = cutEvenly(slice, 2);
  if (halvings < MOST_HALVINGS && parts.length === 2) {
    await history.store.deliver([]).store((tx) => replaceSlice(tx, history.scope, { slice, parts }));
    history.queue.unshift(...parts.map((part) => ({ slice: toLedgerSlice(part), halvings: halvings + 1 })));
    return;
  }
  history.failures.push(complaint);
  await history.store.deliver([]).store((tx) => noteSlice(tx, history.scope, { ...slice, status: 'failed' }));
}
