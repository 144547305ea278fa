/** Asks for a slice of creation time (specification: followups.list), once or by page numbers. */
import type { ListPage } from '../api/requests.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { type CreationSlice, describeSlice, toCreationFilters } from './creation-slice.ts';
import { createPageTally, fetchPage, isRefusedPage, MOST_PAGES } from './pages.ts';
import type { ReadRequest } from './read-request.ts';

/** Times that a response which contradicts itself is asked for again. */
const REREADS = 4;

interface SliceReaderOptions {
  readonly pageSize: number;
  /** `updated_after`, for an incremental read. */
  readonly filters: Readonly<Record<string, number>>;
}

export interface SliceReader {
  /**
   * The newest records of the slice, in a response that does not contradict itself; else with the `shortfall`, a
   * `read_incomplete`.
   */
  ask(slice: CreationSlice): Promise<{ readonly page: ListPage; readonly shortfall: SafetySyncError | null }>;
  /** How many records the service says the slice has; undefined when it does not say. */
  askTotal(slice: CreationSlice): Promise<number | undefined>;
  /**
   * The last resort, by page numbers: for a slice that can be divided no further, or whose records do not tell their
   * creation. Yields pages as they come; throws `read_incomplete` when they do not add up.
   */
  readByPages(slice: CreationSlice): AsyncGenerator<readonly unknown[], void, undefined>;
}

/**
 * The response holds fewer records than both its own total and what was asked for, and smaller pages do not explain it. A
 * service with smaller pages announces them by their number; one that announces no number may have them, and the walk asks on
 * below the oldest record.
 */
function isShort({ records, paging }: ListPage, pageSize: number): boolean {
  const total = paging?.total;
  if (total === undefined || records.length >= Math.min(total, pageSize)) return false;
  const { lastPage } = paging ?? {};
  if (records.length === 0) return true;
  return lastPage !== undefined && (lastPage <= 1 || Math.ceil(total / records.length) !== lastPage);
}

export function createSliceReader(
  read: Pick<ReadRequest, 'stream' | 'service'>,
  { pageSize, filters }: SliceReaderOptions,
): SliceReader {
  const { stream } = read;
  const fetch = (slice: CreationSlice, more: Readonly<Record<string, number>> = {}): Promise<ListPage> =>
    fetchPage(read, { limit: pageSize, ...filters, ...toCreationFilters(slice), ...more });
  const incomplete = (slice: CreationSlice, why: string) =>
    new SafetySyncError('read_incomplete', `${stream.method}, created ${describeSlice(slice)}: ${why}`);

  return {
    async ask(slice) {
      for (let reread = 0; ; reread += 1) {
        const page = await fetch(slice);
        if (!isShort(page, pageSize)) return { page, shortfall: null };
        if (reread === REREADS) {
          const total = String(page.paging?.total);
          const why = `${total} records were announced, ${page.records.length} delivered`;
          return { page, shortfall: incomplete(slice, why) };
        }
      }
    },
    async askTotal(slice) {
      const { paging } = await fetch(slice, { limit: 1 });
      return paging?.total;
    },
    async *readByPages(slice) {
      // Where each response has ties in another order, the attempts together show what none of them shows. This counts only for
      // a slice that does not grow, and not after a deletion: a new or deleted record would stand for a missing one.
      let together = createPageTally();
      for (let reread = 0; ; reread += 1) {
        const tally = createPageTally();
        if (slice.toMs === null) together = createPageTally();
        for (let number = 1; number <= MOST_PAGES; number += 1) {
          let page: ListPage;
          try {
            page = await fetch(slice, number === 1 ? {} : { page: number });
          } catch (error) {
            if (number === 1 || !isRefusedPage(error)) throw error;
            break;
          }
          tally.add(page, stream.keyField);
          together.add(page, stream.keyField);
          yield page.records;
          if (!tally.lastPageWasNews || number >= (tally.lastPage ?? Infinity)) break;
        }
        const shortfall = tally.shortfall();
        if (shortfall === null || together.shortfall() === null) return;
        if (reread === REREADS) throw incomplete(slice, shortfall);
      }
    },
  };
}
