/** The ranges of a slice that are still to be requested after a response. Pure; times in ms since 1970. */
import type { Received } from '../../shared/received.ts';
import type { ListPage } from '../api/requests.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { TimeSlice } from '../streams/state.ts';
import type { CreationOrder } from './creation-slice.ts';
import { countDistinct, timeOf } from './record-fields.ts';

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
