/** Asks for a slice of creation time (specification: followups.list), once or by page numbers. */
import type { ListPage } from '../api/requests.ts';
import type { Received } from '../shared/received.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { type CreationSlice, describeSlice, timeOf, toCreationFilters } from './creation-slice.ts';
import { isOfOneId, OF_ONE_ID } from './ask-user.ts';
import { countDistinct, createPageTally, fetchPage, isRefusedPage, MOST_PAGES, nameOf } from './pages.ts';
import type { ReadRequest } from './read-request.ts';

/** Times that a response which contradicts itself is asked for again. */
const REREADS = 4;
/** Repeated records of one response that are asked about one by one. */
const MOST_REPEATS = 20;
/** A question that is part of one that failed: a few attempts tell whether it fails, too. */
const FEW_RETRIES = { codes: OF_ONE_ID, retries: 1 };
/** Failing questions of one run that are divided: two records that the service fails for take about 80. */
const MOST_DIVIDED = 120;

interface SliceReaderOptions {
  readonly pageSize: number;
  /** `updated_after`, for an incremental read. */
  readonly filters: Readonly<Record<string, number>>;
}

export interface SliceResponse {
  readonly page: ListPage;
  /** Records of the page that may be held against its total. */
  readonly distinct: number;
  readonly shortfall: SafetySyncError | null;
}

export interface SliceReader {
  /** The field that holds a record's key. */
  readonly keyField: string;
  /**
   * The newest records of the slice, in a response that does not contradict itself; else with the `shortfall`, a
   * `read_incomplete`. A total that stays below the records beside it is left out.
   */
  ask(slice: CreationSlice, options?: { readonly isSuspect?: boolean | undefined }): Promise<SliceResponse>;
  /** How many records the service says the slice has; undefined when it does not say. */
  askTotal(slice: CreationSlice): Promise<number | undefined>;
  /**
   * A response with the newest record of the slice, or with the second newest, because the service may fail for the newest;
   * undefined when it fails for both, or has neither.
   */
  probe(slice: CreationSlice): Promise<ListPage | undefined>;
  /** Whether the service responds with any record of the account: a question that fails then fails by what it is about. */
  isWell(): Promise<boolean>;
  /** Whether one more failing question may be divided: a service that fails for much would be asked for ever. */
  mayDivide(): boolean;
  /**
   * The last resort, by page numbers: for a slice that can be divided no further, or whose records do not tell their
   * creation. Yields pages as they come; throws `read_incomplete` when they do not add up. Returns how many records the
   * source holds twice.
   */
  readByPages(slice: CreationSlice): AsyncGenerator<readonly Received[], number, undefined>;
}

/**
 * The response holds fewer records than its own total, and neither what was asked for nor smaller pages explain it. A limit
 * counts rows, a total counts records: a full response may repeat some. A service with smaller pages announces them by their
 * number; one that announces no number may have them, and the walk asks on below the oldest record.
 */
function isShort({ records, paging }: ListPage, distinct: number, pageSize: number): boolean {
  const total = paging?.total;
  if (total === undefined || distinct >= total || records.length >= pageSize) return false;
  if (distinct === 0) return true;
  const lastPage = paging?.lastPage;
  if (lastPage === undefined) return false;
  return lastPage <= 1 || [distinct, records.length].every((size) => Math.ceil(total / size) !== lastPage);
}

/** A page whose total is wrong says no more of how much there is than one without a total. */
const withoutTotal = (page: ListPage): ListPage => ({
  ...page,
  paging: { total: undefined, lastPage: page.paging?.lastPage },
});

/** Names of the records that were shown, and when those were created that came again, ms. */
interface Shown {
  readonly names: Set<string>;
  readonly repeated: Set<number>;
}

const showNothing = (): Shown => ({ names: new Set(), repeated: new Set() });

function addShown({ names, repeated }: Shown, records: readonly Received[], keyField: string): void {
  for (const record of records) {
    const name = nameOf(record, keyField);
    if (names.has(name)) repeated.add(Math.floor(timeOf(record, 'created_on') ?? 0));
    names.add(name);
  }
}

export function createSliceReader(
  read: Pick<ReadRequest, 'stream' | 'service'>,
  { pageSize, filters }: SliceReaderOptions,
): SliceReader {
  const { stream } = read;
  let divided = 0;
  const fetch = (
    slice: CreationSlice,
    more: Readonly<Record<string, number>> = {},
    isSuspect = false,
  ): Promise<ListPage> => {
    const params = { limit: pageSize, ...filters, ...toCreationFilters(slice), ...more };
    return fetchPage(read, params, isSuspect ? FEW_RETRIES : undefined);
  };
  async function probe(slice: CreationSlice): Promise<ListPage | undefined> {
    try {
      return await fetch(slice, { limit: 1 });
    } catch (error) {
      if (!isOfOneId(error)) throw error;
    }
    try {
      return await fetch(slice, { limit: 1, page: 2 }, true);
    } catch (error) {
      if (!isOfOneId(error) && !isRefusedPage(error)) throw error;
      return undefined;
    }
  }
  const askTotal = async (slice: CreationSlice) => (await probe(slice))?.paging?.total;

  /**
   * How many records the source holds twice. A repeated row alone proves nothing: the millisecond is asked for by itself, where
   * no row can stand in the place of another record unless both have that creation time.
   */
  async function countHeldTwice({ repeated }: Shown): Promise<number> {
    const again = new Set<string>();
    for (const ms of [...repeated].slice(0, MOST_REPEATS)) {
      const { records, paging } = await fetch({ fromMs: ms, toMs: ms + 1 });
      if (records.length === pageSize || records.length !== paging?.total) continue;
      const names = new Set<string>();
      for (const record of records) {
        const name = nameOf(record, stream.keyField);
        if (names.has(name)) again.add(name);
        names.add(name);
      }
    }
    return again.size;
  }

  const incomplete = (slice: CreationSlice, why: string) =>
    new SafetySyncError('read_incomplete', `${stream.method}, created ${describeSlice(slice)}: ${why}`);

  return {
    keyField: stream.keyField,
    async ask(slice, { isSuspect = false } = {}) {
      for (let reread = 0; ; reread += 1) {
        const page = await fetch(slice, {}, isSuspect);
        const distinct = countDistinct(page.records, stream.keyField);
        const isTotalTooSmall = distinct > (page.paging?.total ?? Infinity);
        if (!isTotalTooSmall && !isShort(page, distinct, pageSize))
          return { page, distinct, shortfall: null };
        if (reread < REREADS) continue;
        if (isTotalTooSmall) return { page: withoutTotal(page), distinct, shortfall: null };
        const total = page.paging?.total ?? 0;
        const shown = showNothing();
        addShown(shown, page.records, stream.keyField);
        if (page.records.length >= total && distinct + (await countHeldTwice(shown)) >= total)
          return { page, distinct: total, shortfall: null };
        const why = `${total} records were announced, ${distinct} delivered`;
        return { page, distinct, shortfall: incomplete(slice, why) };
      }
    },
    askTotal,
    probe,
    async isWell() {
      for (const params of [{ limit: 1 }, { limit: 1, page: 2 }]) {
        try {
          const { records } = await fetchPage(read, params, FEW_RETRIES);
          if (records.length > 0) return true;
        } catch (error) {
          if (!isOfOneId(error) && !isRefusedPage(error)) throw error;
        }
      }
      return false;
    },
    mayDivide: () => (divided += 1) <= MOST_DIVIDED,
    async *readByPages(slice) {
      // Where each response has ties in another order, the attempts together show what none of them shows. This counts only for
      // a slice that does not grow, and not after a deletion: a new or deleted record would stand for a missing one.
      let together = createPageTally();
      for (let reread = 0; ; reread += 1) {
        const tally = createPageTally();
        const shown = showNothing();
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
          addShown(shown, page.records, stream.keyField);
          yield page.records;
          if (!tally.lastPageWasNews || number >= (tally.lastPage ?? Infinity)) break;
        }
        const shortfall = tally.shortfall();
        if (shortfall === null || together.shortfall() === null) return 0;
        if (reread < REREADS) continue;
        const twice = await countHeldTwice(shown);
        if (twice === 0 || tally.shortfall(twice) !== null) throw incomplete(slice, shortfall);
        return twice;
      }
    },
  };
}
