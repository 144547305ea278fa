/**
 * Reads every record of a slice of creation time such that none that was there all the while can be missed
 * (specification: followups.list). Page numbers shift under the reader; creation time does not. See docs/design.md.
 */
import { SafetySyncError } from '../shared/errors.ts';
import {
  type CreationOrder,
  type CreationSlice,
  halve,
  readCreationOrder,
  timeOf,
} from './creation-slice.ts';
import type { Page } from './pages.ts';
import type { SliceReader } from './slice-reader.ts';

/** Halvings of a slice: 2^45 ms is a thousand years. */
const DEEPEST = 50;

export type WalkStep =
  /** The first response, before its records. */
  | { readonly kind: 'first'; readonly page: Page }
  | {
      readonly kind: 'records';
      /** What this response brought, without what the one before had shown. */
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

interface Task extends CreationSlice {
  readonly depth: number;
  /** What the response before left for this task, and what it delivered itself. */
  readonly after?: { readonly remaining: number; readonly newer: CreationSlice; readonly delivered: number };
  /** What the response before has already shown: its records at the border, as text. */
  readonly shown?: Border;
  /** How many records the response before held: it may have ended there only because responses end there. */
  readonly shownIn?: number;
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
function cutOff(task: Task, page: Page, order: CreationOrder): Task[] | undefined {
  const { oldestMs } = order;
  if (!order.isNewestFirst || !Number.isInteger(oldestMs)) return undefined;
  if (task.from !== null && oldestMs < task.from) return undefined;
  const to = oldestMs + 1;
  if (task.to !== null && to > task.to) return undefined;
  if (task.to === to) {
    // More records in one millisecond than a response holds.
    const millisecond: Task = { from: oldestMs, to, depth: task.depth, byPages: true };
    const older: Task = { from: task.from, to: oldestMs, depth: task.depth };
    return task.from === oldestMs ? [millisecond] : [millisecond, older];
  }
  const total = page.response.paging?.total;
  const delivered = page.records.filter((record) => (timeOf(record, 'created_on') ?? 0) >= to).length;
  const after =
    total === undefined
      ? {}
      : { after: { remaining: total - delivered, newer: { from: to, to: task.to }, delivered } };
  const shown = { shown: atBorder(page.records, oldestMs), shownIn: page.records.length };
  return [{ from: task.from, to, depth: task.depth, ...shown, ...after }];
}

/** The response holds records from outside of the slice: the service does not heed its bounds. */
function isBeside(slice: CreationSlice, order: CreationOrder | undefined): boolean {
  if (order === undefined) return false;
  // A service whose bounds are inclusive shows one millisecond more on either side.
  const isTooOld = slice.from !== null && order.oldestMs < slice.from - 1;
  return isTooOld || (slice.to !== null && order.newestMs > slice.to);
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
    return open.some((task) => task.to === null) ? null : Math.max(...open.map((task) => task.to ?? 0));
  }

  function toStep(list: readonly unknown[], shown?: Border): WalkStep {
    const news = shown === undefined ? list : list.filter((record) => !isShown(record, shown));
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
  function divide(task: Task, page: Page): void {
    const order = readCreationOrder(page.records);
    const parts = order === undefined ? undefined : cutOff(task, page, order);
    if (parts !== undefined) {
      tasks.push(...parts.reverse());
      return;
    }
    isDoubtful = true;
    if (isBeside(task, order) || page.response.paging?.total === undefined) {
      // The filter does nothing, or nothing would tell when a half is whole: halving would lead nowhere.
      tasks.push({ from: task.from, to: task.to, depth: task.depth, byPages: true });
      return;
    }
    const halves = order === undefined || task.depth >= DEEPEST ? undefined : halve(task, order);
    if (halves === undefined) tasks.push({ from: task.from, to: task.to, depth: task.depth, byPages: true });
    else for (const half of halves.reverse()) tasks.push({ ...half, depth: task.depth + 1 });
  }

  /** Without a total: nothing came that the response before had not shown, and not because it is as full as that one. */
  function isWhole({ records, response }: Page, task: Task): boolean {
    const total = response.paging?.total;
    if (total !== undefined) return records.length >= total;
    if (records.length > 0 && records.length === task.shownIn) return false;
    return records.every((record) => isShown(record, task.shown));
  }

  /** Records that the slice has now, without those that were created since its first response: growth is no shortfall. */
  async function countOld(slice: CreationSlice): Promise<number> {
    const isGrowing = slice.to === null && newestMs !== undefined;
    // Asked first: what is created between the two questions must not hide anything.
    const added = isGrowing ? await reader.askTotal({ from: Math.floor(newestMs ?? 0) + 1, to: null }) : 0;
    return ((await reader.askTotal(slice)) ?? 0) - (added ?? 0);
  }

  async function* take(task: Task, page: Page): Walk {
    const total = page.response.paging?.total;
    if (!isWhole(page, task)) divide(task, page);
    if (task.after !== undefined && total !== undefined && total < task.after.remaining) {
      // Records were deleted meanwhile, or the response before kept something back: ask for its part again.
      isDoubtful = true;
      const again = await reader.ask(task.after.newer);
      if (again.shortfall !== null) throw again.shortfall;
      const newerTask: Task = { ...task.after.newer, depth: task.depth };
      if (!isWhole(again.page, newerTask)) divide(newerTask, again.page);
      if ((again.page.response.paging?.total ?? 0) > task.after.delivered) {
        // The records of the task itself come only after these.
        inHand = task;
        yield toStep(again.page.records);
        inHand = undefined;
      }
    }
    yield toStep(page.records, task.shown);
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
          yield toStep(page.records, task.shown);
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
