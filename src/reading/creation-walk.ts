/**
 * Reads every record of a slice of creation time such that none that was there all the while can be missed
 * (specification: followups.list). Page numbers shift under the reader; creation time does not. See docs/design.md.
 */
import type { ListPage } from '../api/requests.ts';
import { SafetySyncError } from '../shared/errors.ts';
import {
  type CreationOrder,
  type CreationSlice,
  halve,
  readCreationOrder,
  timeOf,
} from './creation-slice.ts';
import type { SliceReader } from './slice-reader.ts';

/** Halvings of a slice: 2^45 ms is a thousand years. */
const DEEPEST = 50;

export type WalkStep =
  /** The first response, before its records. */
  | { readonly kind: 'first'; readonly page: ListPage }
  | {
      readonly kind: 'records';
      /** What this response brought, without what the previous one had shown. */
      readonly records: readonly unknown[];
      /** The part that is still to be read is older than this, ms (exclusive); null: not known; undefined: nothing is left. */
      readonly remainingTo: number | null | undefined;
    };

type Walk<Result = void> = AsyncGenerator<WalkStep, Result, undefined>;

/** What two responses share: the records created in one millisecond, as text. */
interface Border {
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
  /** Its oldest records, which come again. */
  readonly border: Border;
  /** All that it held: it may have ended there only because responses end there. */
  readonly recordCount: number;
}

interface Task extends CreationSlice {
  readonly depth: number;
  readonly previous?: Previous;
  /** Read it by page numbers at once. */
  readonly byPages?: true;
}

/** Returns null when the slice was read completely, else what is missing; other failures are thrown. */
export async function* walkCreation(slice: CreationSlice, reader: SliceReader): Walk<SafetySyncError | null> {
  try {
    yield* createWalk(reader).run(slice);
    return null;
  } catch (error) {
    if (error instanceof SafetySyncError && error.code === 'read_incomplete') return error;
    throw error;
  }
}

/** The records at the border between two responses, to recognize them when they come again. */
function atBorder(records: readonly unknown[], createdMs: number): Border {
  const shared = records.filter((record) => timeOf(record, 'created_on') === createdMs);
  return { createdMs, texts: new Set(shared.map((record) => JSON.stringify(record))) };
}

function isShown(record: unknown, border: Border | undefined): boolean {
  return (
    border !== undefined &&
    timeOf(record, 'created_on') === border.createdMs &&
    border.texts.has(JSON.stringify(record))
  );
}

/** What is left of a task after a newest-first response that does not hold all of it; undefined when that is not one. */
function cutOff(task: Task, page: ListPage, order: CreationOrder): Task[] | undefined {
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
  const newerCount = page.records.filter((record) => (timeOf(record, 'created_on') ?? 0) >= toMs).length;
  const previous: Previous = {
    remainingTotal: total === undefined ? undefined : total - newerCount,
    newerSlice: { fromMs: toMs, toMs: task.toMs },
    newerCount,
    border: atBorder(page.records, oldestMs),
    recordCount: page.records.length,
  };
  return [{ fromMs: task.fromMs, toMs, depth: task.depth, previous }];
}

/** The response holds records from outside of the slice: the service does not heed its bounds. */
function isBeside(slice: CreationSlice, order: CreationOrder | undefined): boolean {
  if (order === undefined) return false;
  // A service whose bounds are inclusive shows one millisecond more on either side.
  const isTooOld = slice.fromMs !== null && order.oldestMs < slice.fromMs - 1;
  return isTooOld || (slice.toMs !== null && order.newestMs > slice.toMs);
}

function createWalk(reader: SliceReader) {
  /** Newest first: the last one is the next. */
  const tasks: Task[] = [];
  let passed = 0;
  /** The responses do not add up by creation time alone: ask once more at the end what there is. */
  let isDoubtful = false;
  /** The newest creation that the first response told. */
  let newestMs: number | undefined;
  /** What is being read and is not complete: all of it is still to be read. */
  let inHand: CreationSlice | undefined;

  function remainingTo(): number | null | undefined {
    const open: CreationSlice[] = inHand === undefined ? tasks : [...tasks, inHand];
    if (open.length === 0) return undefined;
    return open.some((task) => task.toMs === null) ? null : Math.max(...open.map((task) => task.toMs ?? 0));
  }

  function toStep(list: readonly unknown[], border?: Border): WalkStep {
    const news = border === undefined ? list : list.filter((record) => !isShown(record, border));
    passed += news.length;
    return { kind: 'records', records: news, remainingTo: remainingTo() };
  }

  async function* readByPages(slice: CreationSlice): Walk {
    inHand = slice;
    for await (const list of reader.readByPages(slice)) yield toStep(list);
    inHand = undefined;
    yield toStep([]);
  }

  /** Puts what is left of a task after this response on the list. */
  function divide(task: Task, page: ListPage): void {
    const order = readCreationOrder(page.records);
    const parts = order === undefined ? undefined : cutOff(task, page, order);
    if (parts !== undefined) {
      tasks.push(...parts.reverse());
      return;
    }
    isDoubtful = true;
    if (isBeside(task, order) || page.paging?.total === undefined) {
      // The filter does nothing, or nothing would tell when a half is whole: halving would lead nowhere.
      tasks.push({ fromMs: task.fromMs, toMs: task.toMs, depth: task.depth, byPages: true });
      return;
    }
    const halves = order === undefined || task.depth >= DEEPEST ? undefined : halve(task, order);
    if (halves === undefined)
      tasks.push({ fromMs: task.fromMs, toMs: task.toMs, depth: task.depth, byPages: true });
    else for (const half of halves.reverse()) tasks.push({ ...half, depth: task.depth + 1 });
  }

  /** Without a total: nothing came that the previous response had not shown, and not because it is as full as that one. */
  function isWhole({ records, paging }: ListPage, { previous }: Task): boolean {
    const total = paging?.total;
    if (total !== undefined) return records.length >= total;
    if (records.length > 0 && records.length === previous?.recordCount) return false;
    return records.every((record) => isShown(record, previous?.border));
  }

  /** Records that the slice has now, without those that were created since its first response: growth is no shortfall. */
  async function countOld(slice: CreationSlice): Promise<number> {
    const isGrowing = slice.toMs === null && newestMs !== undefined;
    // Asked first: what is created between the two questions must not hide anything.
    const added = isGrowing
      ? await reader.askTotal({ fromMs: Math.floor(newestMs ?? 0) + 1, toMs: null })
      : 0;
    return ((await reader.askTotal(slice)) ?? 0) - (added ?? 0);
  }

  async function* take(task: Task, page: ListPage): Walk {
    const total = page.paging?.total;
    if (!isWhole(page, task)) divide(task, page);
    const { previous } = task;
    if (previous?.remainingTotal !== undefined && total !== undefined && total < previous.remainingTotal) {
      // Records were deleted meanwhile, or the previous response kept something back: ask for its part again.
      isDoubtful = true;
      const again = await reader.ask(previous.newerSlice);
      if (again.shortfall !== null) throw again.shortfall;
      const newerTask: Task = { ...previous.newerSlice, depth: task.depth };
      if (!isWhole(again.page, newerTask)) divide(newerTask, again.page);
      if ((again.page.paging?.total ?? 0) > previous.newerCount) {
        // The records of the task itself come only after these.
        inHand = task;
        yield toStep(again.page.records);
        inHand = undefined;
      }
    }
    yield toStep(page.records, task.previous?.border);
  }

  return {
    async *run(slice: CreationSlice): Walk {
      tasks.push({ ...slice, depth: 0 });
      for (let isFirst = true; ; isFirst = false) {
        const task = tasks.pop();
        if (task === undefined) break;
        if (task.byPages === true) {
          yield* readByPages(task);
          continue;
        }
        const { page, shortfall } = await reader.ask(task);
        if (shortfall !== null) {
          // What came is right, but all of the task is still to be read.
          inHand = task;
          yield toStep(page.records, task.previous?.border);
          throw shortfall;
        }
        if (isFirst) {
          newestMs = readCreationOrder(page.records)?.newestMs;
          yield { kind: 'first', page };
        }
        yield* take(task, page);
      }
      // A record whose creation time is unusable passes no filter on it: only page numbers reach it.
      if (isDoubtful && passed < (await countOld(slice))) yield* readByPages(slice);
    },
  };
}
