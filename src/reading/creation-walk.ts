/**
 * Reads every record of a slice of creation time such that none that was there all the while can be missed
 * (specification: followups.list). Page numbers shift under the reader; creation time does not. See docs/design.md.
 */
import type { ListPage } from '../api/requests.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { TimeSlice } from '../streams/state.ts';
import { isOfOneId } from './ask-user.ts';
import {
  type CreationOrder,
  type CreationSlice,
  halve,
  readCreationOrder,
  timeOf,
} from './creation-slice.ts';
import { countDistinct, nameOf } from './pages.ts';
import type { SliceReader, SliceResponse } from './slice-reader.ts';

/** Halvings of a slice: 2^45 ms is a thousand years. */
const DEEPEST = 50;
/** Nothing was created later. */
const FAR_FUTURE_MS = Date.parse('9999-01-01T00:00:00Z');
/** Where a failing part without bounds is divided, and what the ledger has for them. */
export const FAILING_TIME: TimeSlice = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

/** A part that was left out, as the ledger has it. */
export const toHole = ({ fromMs, toMs }: CreationSlice): TimeSlice => ({
  fromMs: fromMs ?? FAILING_TIME.fromMs,
  toMs: toMs ?? FAILING_TIME.toMs,
});

/** How a hole of the ledger is asked for. */
export const toPart = ({ fromMs, toMs }: TimeSlice): CreationSlice => ({
  fromMs: fromMs <= FAILING_TIME.fromMs ? null : fromMs,
  toMs: toMs >= FAILING_TIME.toMs ? null : toMs,
});

/** The parts of a slice between holes, oldest first. */
function partsBetween(slice: CreationSlice, holes: readonly TimeSlice[]): CreationSlice[] {
  const parts: CreationSlice[] = [];
  let fromMs = slice.fromMs;
  for (const hole of holes.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const part = toPart(hole);
    if (part.fromMs !== null && part.fromMs > (fromMs ?? -Infinity))
      parts.push({ fromMs, toMs: part.fromMs });
    if (part.toMs === null) return parts;
    fromMs = Math.max(fromMs ?? part.toMs, part.toMs);
  }
  return [...parts, { fromMs, toMs: slice.toMs }];
}

export type WalkStep =
  /** The first response, before its records. */
  | { readonly kind: 'first'; readonly page: ListPage }
  | {
      readonly kind: 'records';
      /** What this response brought, without what the previous one had shown. */
      readonly records: readonly unknown[];
      /** The part that is still to be read is older than this, ms (exclusive); null: not known; undefined: nothing is left. */
      readonly remainingTo: number | null | undefined;
      /** Different records of the part that was read so far. */
      readonly seen: number;
    }
  /**
   * The service fails for every response that holds a certain record of this part, and for nothing else: it is left out.
   * Everything newer was read, what is older comes next.
   */
  | { readonly kind: 'hole'; readonly part: CreationSlice; readonly error: SafetySyncError };

interface WalkOptions {
  /** Parts that are known to fail: they are not asked for. */
  readonly without?: readonly TimeSlice[];
  /** The slice failed before: a few attempts tell whether it still does. */
  readonly isSuspect?: boolean;
}

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
  /** Those of them that count as read. */
  settled: number;
  /** Its oldest records, which come again. */
  readonly border: Border;
  /** All that it held, and how many of them differ: it may have ended there only because responses end there. */
  readonly recordCount: number;
  readonly distinct: number;
}

interface Task extends CreationSlice {
  readonly depth: number;
  readonly previous?: Previous;
  /** Read it by page numbers at once. */
  readonly byPages?: true;
  /** It is part of one that failed. */
  readonly isSuspect?: boolean;
}

/** Records without a usable creation time are of no slice: they are known by name. */
export function noteUndated(list: readonly unknown[], keyField: string, undated: Set<string>): void {
  for (const record of list) {
    if (timeOf(record, 'created_on') === undefined) undated.add(nameOf(record, keyField));
  }
}

interface Seen {
  /** Later creations are growth: nobody expects them to be seen. */
  readonly topMs: number;
  /** Different ones. */
  readonly records: number;
  readonly undated: number;
}

/**
 * Whether a slice has records that no question by creation time has shown. It has fewer different ones than its total; or,
 * however many were deleted meanwhile, its total counts some that no filter on creation shows: their `created_on` is
 * unusable, or the service compares it more coarsely than by milliseconds. Only page numbers reach those.
 */
export async function isAnyUnseen(slice: CreationSlice, reader: SliceReader, seen: Seen): Promise<boolean> {
  const isOpen = slice.toMs === null;
  // The total of all comes last: what is created between the questions must not hide anything.
  const added = isOpen ? await reader.askTotal({ fromMs: seen.topMs, toMs: null }) : 0;
  if (added === undefined) return false;
  const filtered = isOpen ? await reader.askTotal({ fromMs: slice.fromMs, toMs: seen.topMs }) : undefined;
  const total = await reader.askTotal(slice);
  if (total === undefined) return false;
  const expected = total - added;
  return seen.records < expected || (filtered !== undefined && expected - filtered > seen.undated);
}

/** Returns null when the slice was read completely, else what is missing; other failures are thrown. */
export async function* walkCreation(
  slice: CreationSlice,
  reader: SliceReader,
  options: WalkOptions = {},
): Walk<SafetySyncError | null> {
  try {
    yield* createWalk(slice, reader, options).run();
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
function cutOff(
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
    settled: 0,
    border: atBorder(page.records, oldestMs),
    recordCount: page.records.length,
    distinct: countDistinct(page.records, keyField),
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

function createWalk(
  slice: CreationSlice,
  reader: SliceReader,
  { without = [], isSuspect = false }: WalkOptions,
) {
  /** Newest first: the last one is the next. */
  const tasks: Task[] = partsBetween(slice, without).map((part) => ({ ...part, depth: 0, isSuspect }));
  let hasHoles = without.length > 0;
  /** Different records of the parts that were read, which share none: each is of the one part that holds its creation time. */
  let settled = 0;
  /** Records without a usable creation time are of no part. */
  const undated = new Set<string>();
  /** The responses do not add up by creation time alone: ask once more at the end what there is. */
  let isDoubtful = hasHoles;
  /** The newest creation that was told first. */
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
    noteUndated(news, reader.keyField, undated);
    return { kind: 'records', records: news, remainingTo: remainingTo(), seen: settled + undated.size };
  }

  /**
   * Names of the different records of a part. A service with inclusive bounds shows those of a neighbour, too, which are
   * counted there; outside of the slice there is no neighbour. What was created since the first response is growth, which is
   * not expected.
   */
  function namesOf(part: CreationSlice, list: readonly unknown[]): Set<string> {
    const isOfPart = (record: unknown): boolean => {
      const created = timeOf(record, 'created_on');
      return (
        created !== undefined &&
        (part.fromMs === slice.fromMs || created >= (part.fromMs ?? -Infinity)) &&
        (part.toMs === slice.toMs || created < (part.toMs ?? Infinity)) &&
        (slice.toMs !== null || created <= (newestMs ?? Infinity))
      );
    };
    return new Set(list.filter(isOfPart).map((record) => nameOf(record, reader.keyField)));
  }

  /** `others`: records of the parts beside this one. */
  async function* readByPages(part: CreationSlice, others: number): Walk {
    inHand = part;
    const names = new Set<string>();
    for await (const list of reader.readByPages(part)) {
      for (const name of namesOf(part, list)) names.add(name);
      yield toStep(list);
    }
    settled = Math.max(settled, others + names.size);
    inHand = undefined;
    yield toStep([]);
  }

  /** Puts what is left of a task after this response on the list. Returns how many records of the task are settled. */
  function divide(task: Task, page: ListPage): number {
    const { keyField } = reader;
    const order = readCreationOrder(page.records);
    const parts = order === undefined ? undefined : cutOff(task, { page, order, keyField });
    if (parts !== undefined) {
      const [next] = parts;
      tasks.push(...parts.reverse());
      if (next?.previous === undefined) return 0;
      next.previous.settled = namesOf(next.previous.newerSlice, page.records).size;
      return next.previous.settled;
    }
    isDoubtful = true;
    if (isBeside(task, order) || page.paging?.total === undefined) {
      // The filter does nothing, or nothing would tell when a half is whole: halving would lead nowhere.
      tasks.push({ fromMs: task.fromMs, toMs: task.toMs, depth: task.depth, byPages: true });
      return 0;
    }
    const halves = order === undefined || task.depth >= DEEPEST ? undefined : halve(task, order);
    if (halves === undefined)
      tasks.push({ fromMs: task.fromMs, toMs: task.toMs, depth: task.depth, byPages: true });
    else for (const half of halves.reverse()) tasks.push({ ...half, depth: task.depth + 1 });
    return 0;
  }

  /** Without a total: nothing came that the previous response had not shown, and not because it is as full as that one. */
  function isWhole({ page: { records, paging }, distinct }: SliceResponse, { previous }: Task): boolean {
    const total = paging?.total;
    if (total !== undefined) return distinct >= total;
    const isFull =
      previous !== undefined && (records.length >= previous.recordCount || distinct >= previous.distinct);
    if (records.length > 0 && isFull) return false;
    return records.every((record) => isShown(record, previous?.border));
  }

  /** Returns how many records of the task are settled. */
  function takePage(task: Task, response: SliceResponse): number {
    const { page } = response;
    return isWhole(response, task) ? namesOf(task, page.records).size : divide(task, page);
  }

  async function* take(task: Task, response: SliceResponse): Walk {
    const { page } = response;
    const total = page.paging?.total;
    const own = takePage(task, response);
    const { previous } = task;
    if (previous?.remainingTotal !== undefined && total !== undefined && total < previous.remainingTotal) {
      // Records were deleted meanwhile, or the previous response kept something back: ask for its part again.
      isDoubtful = true;
      const again = await reader.ask(previous.newerSlice);
      if (again.shortfall !== null) throw again.shortfall;
      settled += takePage({ ...previous.newerSlice, depth: task.depth }, again) - previous.settled;
      if ((again.page.paging?.total ?? 0) > previous.newerCount) {
        // The records of the task itself come only after these.
        inHand = task;
        yield toStep(again.page.records);
        inHand = undefined;
      }
    }
    settled += own;
    yield toStep(page.records, task.previous?.border);
  }

  /**
   * A question failed again and again although the service is well: a record that it would hold makes the service fail. The
   * task is halved until nothing but that record's millisecond fails, which is left out.
   */
  async function* narrow(task: Task, error: unknown): Walk {
    if (!isOfOneId(error) || !(await reader.isWell())) throw error;
    isDoubtful = true;
    const order = { oldestMs: FAILING_TIME.fromMs, newestMs: FAILING_TIME.toMs, isNewestFirst: true };
    const halves = reader.mayDivide() ? halve(task, order) : undefined;
    if (halves !== undefined) {
      for (const half of halves.reverse()) tasks.push({ ...half, depth: task.depth, isSuspect: true });
      return;
    }
    hasHoles = true;
    yield { kind: 'hole', part: { fromMs: task.fromMs, toMs: task.toMs }, error };
  }

  return {
    async *run(): Walk {
      for (let isFirst = true; ;) {
        const task = tasks.pop();
        if (task === undefined) break;
        if (task.byPages === true) {
          yield* readByPages(task, settled);
          continue;
        }
        let response: SliceResponse;
        try {
          response = await reader.ask(task, { isSuspect: task.isSuspect });
        } catch (error) {
          yield* narrow(task, error);
          continue;
        }
        const { page, shortfall } = response;
        if (shortfall !== null) {
          // What came is right, but all of the task is still to be read.
          inHand = task;
          yield toStep(page.records, task.previous?.border);
          throw shortfall;
        }
        newestMs ??= readCreationOrder(page.records)?.newestMs;
        if (isFirst) yield { kind: 'first', page };
        isFirst = false;
        yield* take(task, response);
      }
      if (!isDoubtful) return;
      const topMs = newestMs === undefined ? FAR_FUTURE_MS : Math.floor(newestMs) + 1;
      // How many records a hole has is not known: then only those count that no filter shows.
      const records = hasHoles ? Infinity : settled + undated.size;
      const seen = { topMs, records, undated: undated.size };
      if (await isAnyUnseen(slice, reader, seen)) yield* readByPages(slice, 0);
    },
  };
}
