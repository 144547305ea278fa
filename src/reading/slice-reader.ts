/** Asks for a slice of creation time (specification: followups.list), once or by page numbers. */
import { SafetySyncError } from '../shared/errors.ts';
import { type CreationSlice, describeSlice, toCreationFilters } from './creation-slice.ts';
import type { ExtractContext } from './extract.ts';
import { createPageTally, fetchPage, isRefusedPage, type Page } from './pages.ts';

/** Times that an answer which contradicts itself is asked for again. */
const REREADS = 4;
const MOST_PAGES = 100_000;

export interface SliceReaderOptions {
  readonly pageSize: number;
  /** `updated_after`, for an incremental read. */
  readonly filters: Readonly<Record<string, number>>;
}

export interface SliceReader {
  /**
   * The newest records of the slice, in an answer that does not contradict itself; else `read_incomplete`, after
   * `salvage` has taken what came.
   */
  ask(slice: CreationSlice, salvage?: (records: readonly unknown[]) => Promise<void>): Promise<Page>;
  /** How many records the service says the slice has; undefined when it does not say. */
  askTotal(slice: CreationSlice): Promise<number | undefined>;
  /**
   * The last resort, by page numbers: for a slice that can be divided no further, or whose records do not tell their
   * creation. Pages are passed on as they come; throws `read_incomplete` when they do not add up.
   */
  readByPages(slice: CreationSlice, pass: (records: readonly unknown[]) => Promise<void>): Promise<void>;
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

export function createSliceReader(context: ExtractContext, options: SliceReaderOptions): SliceReader {
  const { pageSize, filters } = options;
  const fetch = async (slice: CreationSlice, more: Readonly<Record<string, number>> = {}): Promise<Page> =>
    await fetchPage(context, { limit: pageSize, ...filters, ...toCreationFilters(slice), ...more });
  const incomplete = (slice: CreationSlice, why: string) =>
    new SafetySyncError(
      'read_incomplete',
      `${context.stream.method}, created ${describeSlice(slice)}: ${why}`,
    );

  return {
    async ask(slice, salvage) {
      for (let reread = 0; ; reread += 1) {
        const page = await fetch(slice);
        if (!isShort(page, pageSize)) return page;
        if (reread === REREADS) {
          await salvage?.(page.records);
          const total = String(page.answer.paging?.total);
          throw incomplete(slice, `${total} records were announced, ${page.records.length} delivered`);
        }
      }
    },
    async askTotal(slice) {
      const { answer } = await fetch(slice, { limit: 1 });
      return answer.paging?.total;
    },
    async readByPages(slice, pass) {
      for (let reread = 0; ; reread += 1) {
        const tally = createPageTally();
        for (let page = 1; page <= MOST_PAGES; page += 1) {
          try {
            const read = await fetch(slice, page === 1 ? {} : { page });
            tally.note(read, context.stream.keyField);
            await pass(read.records);
          } catch (error) {
            if (page === 1 || !isRefusedPage(error)) throw error;
            break;
          }
          if (!tally.lastPageWasNews || page >= (tally.lastPage ?? Infinity)) break;
        }
        const complaint = tally.complaint();
        if (complaint === null) return;
        if (reread === REREADS) throw incomplete(slice, complaint);
      }
    },
  };
}
