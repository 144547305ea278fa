/** What is left to be asked for of a slice after a response. Pure; times in ms since 1970. */
import type { ListPage } from '../api/requests.ts';
import type { CreationOrder, CreationSlice } from './creation-slice.ts';
import { contentOf, countDistinct, timeOf } from './record-fields.ts';

/** What two responses share: the records created in one millisecond, as text. */
export interface Border {
  readonly createdMs: number;
  readonly texts: ReadonlySet<string>;
}

/** What the previous response said; used to detect records that were deleted or withheld in between. */
interface Previous {
  /** Records that it left for the task; undefined: it told no total. */
  readonly remainingTotal: number | undefined;
  /** The part that it delivered, above the border, and the records that it delivered of it. */
  readonly newerSlice: CreationSlice;
  readonly newerCount: number;
  /** Those of them that count as read. */
  counted: number;
  /** Its oldest records, which come again. */
  readonly border: Border;
  /** All that it held, and how many of them differ: it may have ended there only because responses end there. */
  readonly recordCount: number;
  readonly distinct: number;
}

export interface Task extends CreationSlice {
  readonly depth: number;
  readonly previous?: Previous;
  /** Read it by page numbers at once. */
  readonly byPages?: true;
  /** It is part of one that failed. */
  readonly isSuspect?: boolean;
}

/** The records at the border between two responses, to recognize them when they come again. */
function atBorder(records: readonly unknown[], createdMs: number): Border {
  const shared = records.filter((record) => timeOf(record, 'created_on') === createdMs);
  return { createdMs, texts: new Set(shared.map((record) => contentOf(record))) };
}

export function isShown(record: unknown, border: Border | undefined): boolean {
  return (
    border !== undefined &&
    timeOf(record, 'created_on') === border.createdMs &&
    border.texts.has(contentOf(record))
  );
}

/** What is left of a task after a newest-first response that does not hold all of it; undefined when that is not one. */
export function cutOff(
  task: Task,
  {
    page,
    order,
    keyField,
  }: { readonly page: ListPage; readonly order: CreationOrder; readonly keyField: string },
): Task[] | undefined {
  const { oldestMs } = order;
  if (!order.isNewestFirst || !Number.isInteger(oldestMs)) return undefined;
  if (task.fromMs !== null && oldestMs < task.fromMs) return undefined;
  const toMs = oldestMs + 1;
  if (task.toMs !== null && toMs > task.toMs) return undefined;
  if (task.toMs === toMs) {
    // More records in one millisecond than a response holds.
    const millisecond: Task = { fromMs: oldestMs, toMs, depth: task.depth, byPages: true };
    const older: Task = { fromMs: task.fromMs, toMs: oldestMs, depth: task.depth };
    return task.fromMs === oldestMs ? [millisecond] : [millisecond, older];
  }
  const total = page.paging?.total;
  const newer = page.records.filter((record) => (timeOf(record, 'created_on') ?? 0) >= toMs);
  const newerCount = countDistinct(newer, keyField);
  const previous: Previous = {
    remainingTotal: total === undefined ? undefined : total - newerCount,
    newerSlice: { fromMs: toMs, toMs: task.toMs },
    newerCount,
    counted: 0,
    border: atBorder(page.records, oldestMs),
    recordCount: page.records.length,
    distinct: countDistinct(page.records, keyField),
  };
  return [{ fromMs: task.fromMs, toMs, depth: task.depth, previous }];
}

/** The response holds records from outside of the slice: the service does not heed its bounds. */
export function isBeside(slice: CreationSlice, order: CreationOrder | undefined): boolean {
  if (order === undefined) return false;
  // A service whose bounds are inclusive shows one millisecond more on either side.
  const isTooOld = slice.fromMs !== null && order.oldestMs < slice.fromMs - 1;
  return isTooOld || (slice.toMs !== null && order.newestMs > slice.toMs);
}
