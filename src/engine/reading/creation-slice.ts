/**
 * Slices of creation time, the order of the records in a response, and what is still to be requested after it. Pure; times
 * in ms since 1970. A record never changes its creation time, so disjoint slices never share or lose one.
 */
import type { Received } from '../../shared/received.ts';
import type { ListPage } from '../api/requests.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { TimeSlice } from '../streams/state.ts';
import { countDistinct, timeOf } from './record-fields.ts';

export const WHOLE_TIME: TimeSlice = { fromMs: -Infinity, toMs: Infinity };

export const isWholeTime = ({ fromMs, toMs }: TimeSlice): boolean =>
  fromMs === -Infinity && toMs === Infinity;

/** A bound, or another one in place of an open end. */
export const boundOr = (ms: number, other: number): number => (Number.isFinite(ms) ? ms : other);

/** The filters of followups.list for a slice. Their bounds are exclusive; with inclusive ones a record of a neighbour would be seen twice. */
export function toCreationFilters({ fromMs, toMs }: TimeSlice): Record<string, number> {
  return {
    ...(Number.isFinite(fromMs) ? { created_after: fromMs - 1 } : {}),
    ...(Number.isFinite(toMs) ? { created_before: toMs } : {}),
  };
}

/**
 * The time from which on created records are growth after a read up to `topMs`: the last ms of its second, because the totals
 * of `readUnseen` have their bounds at whole seconds.
 */
export const growthFrom = (topMs: number): number =>
  Math.floor(topMs / SECOND_MS) * SECOND_MS + SECOND_MS - 1;

interface CreationOrder {
  readonly oldestMs: number;
  readonly newestMs: number;
  /** Every record has a creation time, and none is newer than the one before it. */
  readonly isNewestFirst: boolean;
}

/** undefined when no record has a creation time. */
export function readCreationOrder(records: readonly Received[]): CreationOrder | undefined {
  let oldestMs = Infinity;
  let newestMs = -Infinity;
  let isNewestFirst = true;
  for (const record of records) {
    const created = timeOf(record, 'created_on');
    if (created === undefined) {
      isNewestFirst = false;
      continue;
    }
    if (created > oldestMs) isNewestFirst = false;
    oldestMs = Math.min(oldestMs, created);
    newestMs = Math.max(newestMs, created);
  }
  return newestMs === -Infinity ? undefined : { oldestMs, newestMs, isNewestFirst };
}

/** Bounds the plan where the service returns a total that is far too high; a slice that is too large is cut again. */
const MOST_SLICES = 1_000;

/** Equal ranges of the time from `fromMs` to `toMs`, newest first; fewer where the time is too short. */
export function cutEvenly({ fromMs, toMs }: TimeSlice, wanted: number): TimeSlice[] {
  const count = Math.max(1, Math.min(wanted, MOST_SLICES, Math.floor(toMs - fromMs)));
  const edge = (index: number) =>
    index === count ? toMs : Math.floor(fromMs + ((toMs - fromMs) * index) / count);
  return Array.from({ length: count }, (_, at) => ({
    fromMs: edge(count - 1 - at),
    toMs: edge(count - at),
  }));
}

/** The two halves of a slice, the newer first; undefined when it cannot be divided. */
export function halve(slice: TimeSlice, order: CreationOrder): [TimeSlice, TimeSlice] | undefined {
  const fromMs = boundOr(slice.fromMs, Math.min(0, Math.floor(order.oldestMs)));
  const toMs = boundOr(slice.toMs, Math.ceil(order.newestMs) + 1);
  const [newer, older] = cutEvenly({ fromMs, toMs }, 2);
  return (
    newer &&
    older && [
      { ...newer, toMs: slice.toMs },
      { ...older, fromMs: slice.fromMs },
    ]
  );
}

/** For messages. */
export function describeSlice({ fromMs, toMs }: TimeSlice): string {
  const time = (ms: number, open: string) => (Number.isFinite(ms) ? new Date(ms).toISOString() : open);
  return `${time(fromMs, 'from the beginning')} to ${time(toMs, 'now')}`;
}

/**
 * Holes are ranges of creation time that are left out because the service fails for a record in them. These are the
 * bounds for a failing range without bounds: in the ledger, and where it is divided.
 */
export const FAILING_TIME: TimeSlice = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

/** A hole as the ledger has it. */
export const toHole = ({ fromMs, toMs }: TimeSlice): TimeSlice => ({
  fromMs: boundOr(fromMs, FAILING_TIME.fromMs),
  toMs: boundOr(toMs, FAILING_TIME.toMs),
});

/** The slice to request for a hole of the ledger. */
export const ofHole = ({ fromMs, toMs }: TimeSlice): TimeSlice => ({
  fromMs: fromMs <= FAILING_TIME.fromMs ? -Infinity : fromMs,
  toMs: toMs >= FAILING_TIME.toMs ? Infinity : toMs,
});

/** The ranges of a slice between holes, oldest first. */
export function rangesBetween(slice: TimeSlice, holes: readonly TimeSlice[]): TimeSlice[] {
  const ranges: TimeSlice[] = [];
  let { fromMs } = slice;
  for (const hole of holes.map(ofHole).toSorted((one, other) => one.fromMs - other.fromMs)) {
    ranges.push({ fromMs, toMs: hole.fromMs });
    fromMs = Math.max(fromMs, hole.toMs);
  }
  return [...ranges, { fromMs, toMs: slice.toMs }].filter((range) => range.fromMs < range.toMs);
}

/** The oldest records of a response. The next response repeats them, because both contain their millisecond or second. */
export interface Border extends TimeSlice {
  readonly texts: ReadonlySet<string>;
}

/** The previous response: shows which records were deleted since then, or were missing in it. */
interface Previous {
  /** The number of records that it left for the task; undefined: it had no total. */
  readonly remainingTotal: number | undefined;
  /** The range above the border, which it contained, and the number of its records there. */
  readonly newerSlice: TimeSlice;
  readonly newerCount: number;
  /** The number of these records that count as read. */
  counted: number;
  /** Its oldest records, which the next response repeats. */
  readonly border: Border;
  /** The number of all its records, and of distinct ones. It may have ended there only because responses have a limit. */
  readonly recordCount: number;
  readonly distinct: number;
}

export interface SliceTask extends TimeSlice {
  readonly previous?: Previous;
  /** Read it by page numbers at once. */
  readonly byPages?: true;
  /** It is part of a task that failed. */
  readonly isSuspect?: boolean;
}

function isCreatedWithin(record: Received, { fromMs, toMs }: TimeSlice): boolean {
  const created = timeOf(record, 'created_on');
  return created !== undefined && created >= fromMs && created < toMs;
}

export function isShown(record: Received, border: Border | undefined): boolean {
  return border !== undefined && isCreatedWithin(record, border) && border.texts.has(record.text);
}

/** The rest of a task after a newest-first response that contains only the newest records of it; undefined for other responses. */
export function cutOff(
  task: SliceTask,
  {
    page,
    order,
    keyField,
  }: { readonly page: ListPage; readonly order: CreationOrder; readonly keyField: string },
): SliceTask[] | undefined {
  const { oldestMs } = order;
  if (!order.isNewestFirst || !Number.isInteger(oldestMs)) return undefined;
  if (oldestMs < task.fromMs || oldestMs >= task.toMs) return undefined;
  const total = page.paging?.total;
  // A service that compares whole seconds shows the rest of a divided second in neither range. Only a total reveals that.
  const unitMs = total === undefined ? SECOND_MS : 1;
  const unitFromMs = Math.floor(oldestMs / unitMs) * unitMs;
  const fromMs = Math.max(unitFromMs, task.fromMs);
  const toMs = Math.min(unitFromMs + unitMs, task.toMs);
  if (task.toMs === toMs) {
    // One unit has more records than a response.
    const unit: SliceTask = { fromMs, toMs, byPages: true };
    return task.fromMs === fromMs ? [unit] : [unit, { fromMs: task.fromMs, toMs: fromMs }];
  }
  // Records of one time are in any order: newer ones may be missing.
  if (total !== undefined && oldestMs === order.newestMs)
    return [
      { fromMs: toMs, toMs: task.toMs },
      { fromMs: task.fromMs, toMs },
    ];
  const newer = page.records.filter((record) => (timeOf(record, 'created_on') ?? 0) >= toMs);
  const newerCount = countDistinct(newer, keyField);
  const shared = page.records.filter((record) => isCreatedWithin(record, { fromMs, toMs }));
  const previous: Previous = {
    remainingTotal: total === undefined ? undefined : total - newerCount,
    newerSlice: { fromMs: toMs, toMs: task.toMs },
    newerCount,
    counted: 0,
    border: { fromMs, toMs, texts: new Set(shared.map((record) => record.text)) },
    recordCount: page.records.length,
    distinct: countDistinct(page.records, keyField),
  };
  return [{ fromMs: task.fromMs, toMs, previous }];
}

/** The response contains records outside of the slice: the service ignores the bounds. */
export function isBeside({ fromMs, toMs }: TimeSlice, order: CreationOrder): boolean {
  // A service with inclusive bounds shows one more millisecond on each side.
  return order.oldestMs < fromMs - 1 || order.newestMs > toMs;
}
