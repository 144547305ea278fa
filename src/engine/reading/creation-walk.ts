/**
 * Reads every record of a slice of creation time, so that none is missed that existed all the time (specification:
 * followups.list). Page numbers shift while they are read; creation times do not. See docs/design.md.
 */
import type { Received } from '../../shared/received.ts';
import type { ListPage } from '../api/requests.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { TimeSlice } from '../streams/state.ts';
import {
  type Border,
  cutOff,
  FAILING_TIME,
  growthFrom,
  halve,
  isBeside,
  isShown,
  rangesBetween,
  readCreationOrder,
  type SliceTask,
} from './creation-slice.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import { toIncomplete } from './pages.ts';
import { collectUndated, recordName, timeOf } from './record-fields.ts';
import type { SliceReader, SliceResponse } from './slice-reader.ts';

/** No record was created later. */
const FAR_FUTURE_MS = Date.parse('9999-01-01T00:00:00Z');
export type WalkStep =
  /** The first response, before its records. */
  | { readonly kind: 'first'; readonly page: ListPage }
  | {
      readonly kind: 'records';
      /** The records of a response, without those of the previous one. */
      readonly records: readonly Received[];
      /** The remaining range is older than this, ms (exclusive); -Infinity: nothing remains. */
      readonly remainingTo: number;
      /** Different records of the range that was read so far. */
      readonly seen: number;
    }
  /**
   * The service fails for every response with a certain record of this range, and for no other: the range is left out. The
   * newer range was read, the older one is next.
   */
  | { readonly kind: 'hole'; readonly range: TimeSlice; readonly error: SafetySyncError };

interface WalkOptions {
  /** Parts that are known to fail: they are not requested. */
  readonly without?: readonly TimeSlice[] | undefined;
  /** The slice failed before: two attempts show whether it still does. */
  readonly isSuspect?: boolean;
  /** Records created before it are no growth: the upper end of a planned slice that is requested without it. */
  readonly plannedToMs?: number | undefined;
}

type Walk<Result = void> = AsyncGenerator<WalkStep, Result, undefined>;

/** Returns null when the slice was read completely, else what is missing; other failures are thrown. */
export async function* walkCreation(
  slice: TimeSlice,
  reader: SliceReader,
  { without = [], isSuspect = false, plannedToMs = -Infinity }: WalkOptions = {},
): Walk<SafetySyncError | null> {
  /** The last task is the next one, and the newest. */
  const tasks: SliceTask[] = rangesBetween(slice, without).map((range) => ({ ...range, isSuspect }));
  let hasHoles = without.length > 0;
  /** Different records of the ranges that were read. They share none, because a record is in the range of its creation time. */
  let counted = 0;
  /** Records without a usable creation time are in no range. */
  const undated = new Set<string>();
  /** The responses do not add up by creation time alone: at the end the records are compared with the totals. */
  let isDoubtful = hasHoles;
  /** After the newest creation time of the first response that has one, or of the plan. Later creations are growth. */
  let topMs: number | undefined;
  /** The range that is being read and is not complete: it counts as not read. */
  let inHand: TimeSlice | undefined;

  const remainingTo = (): number => Math.max(inHand?.toMs ?? -Infinity, ...tasks.map((task) => task.toMs));

  function toWalkStep(list: readonly Received[], border?: Border): WalkStep {
    const news = border === undefined ? list : list.filter((record) => !isShown(record, border));
    collectUndated(news, reader.keyField, undated);
    return { kind: 'records', records: news, remainingTo: remainingTo(), seen: counted + undated.size };
  }

  /**
   * Names of the different records of a range. A service with inclusive bounds returns those of a neighbour, too, which are
   * counted there; outside of the slice there is no neighbour. Records created since the first response are growth, which is
   * not expected.
   */
  function namesOf(range: TimeSlice, list: readonly Received[]): Set<string> {
    const isInRange = (record: Received): boolean => {
      const created = timeOf(record, 'created_on');
      return (
        created !== undefined &&
        (range.fromMs === slice.fromMs || created >= range.fromMs) &&
        (range.toMs === slice.toMs || created < range.toMs) &&
        (slice.toMs < Infinity || created < growthFrom(topMs ?? Infinity))
      );
    };
    return new Set(list.filter(isInRange).map((record) => recordName(record, reader.keyField)));
  }

  /** `others`: records of the other ranges. */
  async function* readPages(range: TimeSlice, others: number, pages = reader.readByPages(range)): Walk {
    inHand = range;
    const names = new Set<string>();
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next()) {
      for (const name of namesOf(range, next.value)) names.add(name);
      yield toWalkStep(next.value);
    }
    counted = Math.max(counted, others + names.size + next.value);
    inHand = undefined;
    yield toWalkStep([]);
  }

  /** Adds the tasks that are left after this response. Returns how many records of the task are counted. */
  function divide(task: SliceTask, page: ListPage): number {
    const { keyField } = reader;
    const order = readCreationOrder(page.records);
    const ranges = order === undefined ? undefined : cutOff(task, { page, order, keyField });
    if (ranges !== undefined) {
      const [next] = ranges;
      tasks.push(...ranges.reverse());
      if (next?.previous === undefined) return 0;
      next.previous.counted = namesOf(next.previous.newerSlice, page.records).size;
      return next.previous.counted;
    }
    isDoubtful = true;
    // Halving needs a filter that has an effect, and a total that shows when a half is complete.
    const isDivisible = order !== undefined && !isBeside(task, order) && page.paging?.total !== undefined;
    const halves = isDivisible ? halve(task, order) : undefined;
    tasks.push(...(halves?.reverse() ?? [{ fromMs: task.fromMs, toMs: task.toMs, byPages: true } as const]));
    return 0;
  }

  /**
   * Without a total, the task is complete if all records were in the previous response, unless this response is as full as
   * that one.
   */
  function isWhole({ page: { records, paging }, distinct }: SliceResponse, { previous }: SliceTask): boolean {
    const total = paging?.total;
    if (total !== undefined) return distinct >= total;
    const isFull =
      previous !== undefined && (records.length >= previous.recordCount || distinct >= previous.distinct);
    if (records.length > 0 && isFull) return false;
    return records.every((record) => isShown(record, previous?.border));
  }

  /** Returns how many records of the task are counted. */
  function takePage(task: SliceTask, response: SliceResponse): number {
    const { page } = response;
    return isWhole(response, task) ? namesOf(task, page.records).size : divide(task, page);
  }

  async function* take(task: SliceTask, response: SliceResponse): Walk {
    const { page } = response;
    const total = page.paging?.total;
    const own = takePage(task, response);
    const { previous } = task;
    if (previous?.remainingTotal !== undefined && total !== undefined && total < previous.remainingTotal) {
      // Records were deleted meanwhile, or the previous response lacked some: request its range again.
      isDoubtful = true;
      const again = await reader.fetch(previous.newerSlice);
      if (again.shortfall !== null) throw again.shortfall;
      counted += takePage(previous.newerSlice, again) - previous.counted;
      if ((again.page.paging?.total ?? 0) > previous.newerCount) {
        // The records of the task itself are yielded only after these.
        inHand = task;
        yield toWalkStep(again.page.records);
        inHand = undefined;
      }
    }
    counted += own;
    yield toWalkStep(page.records, task.previous?.border);
  }

  /**
   * A request failed in all attempts although the service is well: a record of its response makes the service fail. The task
   * is halved until only that record's millisecond fails, which is left out.
   */
  async function* narrow(task: SliceTask, error: unknown): Walk {
    if (!isRequestSpecific(error) || !(await reader.isWell())) throw error;
    isDoubtful = true;
    const order = { oldestMs: FAILING_TIME.fromMs, newestMs: FAILING_TIME.toMs, isNewestFirst: true };
    const halves = halve(task, order);
    if (halves === undefined) reader.endSearch();
    else if (reader.mayDivide()) {
      tasks.push(...halves.reverse().map((half) => ({ ...half, isSuspect: true })));
      return;
    }
    hasHoles = true;
    yield { kind: 'hole', range: { fromMs: task.fromMs, toMs: task.toMs }, error };
  }

  async function* run(): Walk {
    for (let isFirst = true; ;) {
      const task = tasks.pop();
      if (task === undefined) break;
      let response: SliceResponse;
      try {
        if (task.byPages === true) {
          yield* readPages(task, counted);
          continue;
        }
        response = await reader.fetch(task, task.isSuspect);
      } catch (error) {
        inHand = undefined;
        yield* narrow(task, error);
        continue;
      }
      const { page, shortfall } = response;
      if (shortfall !== null) {
        // The records are right, but all of the task is still to be read.
        inHand = task;
        yield toWalkStep(page.records, task.previous?.border);
        throw shortfall;
      }
      const newest = readCreationOrder(page.records)?.newestMs;
      if (newest !== undefined) topMs ??= Math.max(Math.floor(newest) + 1, plannedToMs);
      if (isFirst) yield { kind: 'first', page };
      isFirst = false;
      yield* take(task, response);
    }
    if (!isDoubtful) return;
    const seen = { topMs: topMs ?? FAR_FUTURE_MS, records: counted + undated.size, undated: undated.size };
    yield* readPages(slice, 0, reader.readUnseen(slice, seen, hasHoles));
  }

  try {
    yield* run();
    return null;
  } catch (error) {
    return toIncomplete(error);
  }
}
