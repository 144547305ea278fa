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
  toCreationFilters,
} from './creation-slice.ts';
import type { ExtractContext } from './extract.ts';
import { createPageTally, fetchPage, isRefusedPage, type Page } from './page-reader.ts';

/** Times that an answer which contradicts itself is asked for again. */
const REREADS = 4;
const MOST_PAGES = 100_000;
/** Halvings of a slice: 2^45 ms is a thousand years. */
const DEEPEST = 50;

export interface WalkOptions {
  readonly pageSize: number;
  /** `updated_after`, for an incremental read. */
  readonly filters: Readonly<Record<string, number>>;
  /** Told of the first answer of the walk, before its records are passed on. */
  readonly onFirstPage?: (page: Page) => void;
}

interface Task extends CreationSlice {
  readonly depth: number;
  /** What the previous answer left for this slice, when it was the newer part of the same walk. */
  readonly after?: { readonly remaining: number; readonly slice: CreationSlice; readonly delivered: number };
  /** Records at the border that the previous answer has already shown. */
  readonly shown?: ReadonlySet<string>;
}

/** The records at the border between two answers, to recognize them when they come again. */
function atBorder(records: readonly unknown[], borderMs: number): Set<string> {
  const shown = new Set<string>();
  for (const record of records) {
    if (timeOf(record, 'created_on') !== borderMs) continue;
    shown.add(JSON.stringify(record));
  }
  return shown;
}

/** The answer holds fewer records than both its own total and what was asked for, and its page count does not explain it. */
function isShort({ records, answer }: Page, pageSize: number): boolean {
  const total = answer.paging?.total;
  if (total === undefined || records.length >= Math.min(total, pageSize)) return false;
  const announcedPages = answer.paging?.lastPage;
  // A service with smaller pages than we asked for says so by their number.
  const isSmallPage =
    records.length > 0 &&
    announcedPages !== undefined &&
    announcedPages > 1 &&
    Math.ceil(total / records.length) === announcedPages;
  return !isSmallPage;
}

/** Adds the records to the loader. Answers null when the slice was read completely, else what did not settle. */
export async function walkCreation(
  context: ExtractContext,
  slice: CreationSlice,
  options: WalkOptions,
): Promise<SafetySyncError | null> {
  try {
    await walk(context, slice, options);
    return null;
  } catch (error) {
    if (error instanceof SafetySyncError && error.code === 'read_incomplete') return error;
    throw error;
  }
}

async function walk(context: ExtractContext, slice: CreationSlice, options: WalkOptions): Promise<void> {
  const { pageSize, filters } = options;
  const ask = async (part: CreationSlice, page?: number): Promise<Page> =>
    await fetchPage(context, {
      limit: pageSize,
      ...(page === undefined || page === 1 ? {} : { page }),
      ...filters,
      ...toCreationFilters(part),
    });

  const incomplete = (part: CreationSlice, why: string) =>
    new SafetySyncError('read_incomplete', `${context.stream.method}, created ${describe(part)}: ${why}`);

  /** One answer that does not contradict itself. */
  const askSettled = async (part: CreationSlice): Promise<Page> => {
    for (let reread = 0; ; reread += 1) {
      const page = await ask(part);
      if (!isShort(page, pageSize)) return page;
      if (reread === REREADS) {
        const total = String(page.answer.paging?.total);
        throw incomplete(part, `${total} records were announced, ${page.records.length} delivered`);
      }
    }
  };

  let passed = 0;
  /** The answers do not add up by creation time alone: ask once more at the end what there is. */
  let isDoubtful = false;
  const pass = async (records: readonly unknown[], shown?: ReadonlySet<string>): Promise<void> => {
    const news =
      shown === undefined ? records : records.filter((record) => !shown.has(JSON.stringify(record)));
    passed += news.length;
    await context.loader.add(news, {});
  };

  /** The last resort, by page numbers: for a slice that can be divided no further, or whose records do not tell their creation. */
  const readByPages = async (part: CreationSlice): Promise<void> => {
    for (let reread = 0; ; reread += 1) {
      const tally = createPageTally();
      for (let number = 1; number <= MOST_PAGES; number += 1) {
        try {
          const page = await ask(part, number);
          tally.note(page, context.stream.keyField);
          await pass(page.records);
        } catch (error) {
          if (number === 1 || !isRefusedPage(error)) throw error;
          break;
        }
        if (!tally.lastPageWasNews || number >= (tally.lastPage ?? Infinity)) break;
      }
      const complaint = tally.complaint();
      if (complaint === null) return;
      if (reread === REREADS) throw incomplete(part, complaint);
    }
  };

  /** A remainder that is smaller than the answer before it left: deletions, or that answer kept something back. Ask its part again. */
  const recheck = async ({ slice: part, delivered }: NonNullable<Task['after']>): Promise<Task[]> => {
    const page = await askSettled(part);
    const total = page.answer.paging?.total ?? page.records.length;
    await pass(page.records);
    if (total <= delivered) return [];
    if (page.records.length >= total) return [];
    return divide({ ...part, depth: 0 }, page);
  };

  /** What is left of a slice after an answer that does not hold all of it; null when only page numbers help. */
  const remainder = (task: Task, page: Page, order: CreationOrder | undefined): Task[] | null => {
    if (order === undefined || task.depth > DEEPEST) return null;
    const to = order.oldestMs + 1;
    const isInside =
      (task.to === null || to < task.to) && (task.from === null || order.oldestMs >= task.from);
    if (order.isNewestFirst && isInside && Number.isInteger(order.oldestMs)) {
      const total = page.answer.paging?.total;
      const newer = page.records.filter((record) => (timeOf(record, 'created_on') ?? 0) >= to).length;
      const after =
        total === undefined
          ? undefined
          : { remaining: total - newer, slice: { from: to, to: task.to }, delivered: newer };
      return [
        {
          from: task.from,
          to,
          depth: task.depth,
          shown: atBorder(page.records, order.oldestMs),
          ...(after === undefined ? {} : { after }),
        },
      ];
    }
    isDoubtful = true;
    return halve(task, order)?.map((half) => ({ ...half, depth: task.depth + 1 })) ?? null;
  };

  const divide = async (task: Task, page: Page): Promise<Task[]> => {
    const parts = remainder(task, page, readCreationOrder(page.records));
    if (parts !== null) return parts;
    await readByPages(task);
    return [];
  };

  // Newest first: the last task is the next one.
  const tasks: Task[] = [{ ...slice, depth: 0 }];
  for (let isFirst = true; ; isFirst = false) {
    const task = tasks.pop();
    if (task === undefined) break;
    const page = await askSettled(task);
    if (isFirst) options.onFirstPage?.(page);
    const total = page.answer.paging?.total;
    await pass(page.records, task.shown);
    if (task.after !== undefined && total !== undefined && total < task.after.remaining) {
      isDoubtful = true;
      tasks.push(...(await recheck(task.after)));
    }
    const isWhole = total === undefined ? isExhausted(page, task) : page.records.length >= total;
    if (!isWhole) tasks.push(...(await divide(task, page)).reverse());
  }
  if (isDoubtful) {
    // A record whose creation time is unusable answers to no filter on it: only page numbers reach it.
    const page = await ask(slice);
    if (passed < (page.answer.paging?.total ?? 0)) await readByPages(slice);
  }
}

/** Without a total: nothing came that the answer before had not shown. */
function isExhausted(page: Page, task: Task): boolean {
  return page.records.every((record) => task.shown?.has(JSON.stringify(record)) === true);
}

function describe({ from, to }: CreationSlice): string {
  const day = (ms: number | null, open: string) => (ms === null ? open : new Date(ms).toISOString());
  return `${day(from, 'from the beginning')} to ${day(to, 'now')}`;
}
