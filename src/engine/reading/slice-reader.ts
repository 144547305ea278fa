/** Requests a slice of creation time (specification: followups.list): its newest records, or all of it by page numbers. */
import type { Received } from '../../shared/received.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import type { ListPage } from '../api/requests.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { TimeSlice } from '../streams/state.ts';
import { describeSlice, growthFrom, toCreationFilters } from './creation-slice.ts';
import { recordKey } from '../streams/wire.ts';
import {
  countExtraRows,
  fetchPage,
  isRefused,
  pages,
  PageTally,
  type Params,
  type PageSource,
} from './pages.ts';
import { countDistinct, timeOf } from './record-fields.ts';

/** How often a response that contradicts itself is requested again. */
const REREADS = 4;
/**
 * Slices with fewer records than their totals, after which a contradiction is not requested again and a failing slice is not
 * halved. If all totals are wrong, a run would otherwise send more than 100,000 requests.
 */
const MOST_SHORT = 25;
/** Repeated records that an error names. */
const NAMED = 3;
/** Failing requests that are divided before a record is found for which the service fails: the search takes about 40. */
const MOST_DIVIDED = 120;
/** Such records of one run that are searched to the millisecond. The ranges of others are tried again by later runs. */
const MOST_FOUND = 25;

export interface SliceResponse {
  readonly page: ListPage;
  /** Records of the page that may be compared with its total. */
  readonly distinct: number;
  readonly shortfall: SafetySyncError | null;
}

/** The records of a slice that were read. */
interface Seen {
  /** Later creations are growth, and need not have been seen. */
  readonly topMs: number;
  /** Different ones. */
  readonly records: number;
  readonly undated: number;
}

/**
 * The response holds fewer records than its own total, and neither the limit nor smaller pages explain it. A limit counts
 * rows, a total counts records: a full response may repeat some. A service with smaller pages announces how many there are;
 * without that number it may still have them, and the walk continues below the oldest record.
 */
function isShort({ records, paging }: ListPage, distinct: number, pageSize: number): boolean {
  const total = paging?.total;
  if (total === undefined || distinct >= total || records.length >= pageSize) return false;
  if (distinct === 0) return true;
  const lastPage = paging?.lastPage;
  if (lastPage === undefined) return false;
  return lastPage <= 1 || [distinct, records.length].every((size) => Math.ceil(total / size) !== lastPage);
}

/** Yields the records of each page; returns the number of duplicate rows at the source. */
type SlicePages = AsyncGenerator<readonly Received[], number, undefined>;

export type SliceReader = ReturnType<typeof createSliceReader>;

/** `filters`: `updated_after`, for an incremental read. */
export function createSliceReader(source: PageSource, filters: Params = {}) {
  const { keyField, method, name, readMode } = source.stream;
  if (readMode.kind !== 'incremental') throw new TypeError(`${name} is not read in slices`);
  const { pageSize } = readMode;
  let divided = 0;
  let found = 0;

  const toParams = (slice: TimeSlice) => ({ limit: pageSize, ...filters, ...toCreationFilters(slice) });

  /** The newest record, or the second newest, because the service may fail for the newest; undefined: it fails for both. */
  async function fetchNewest(params: Params, fewRetries?: boolean): Promise<ListPage | undefined> {
    try {
      return await fetchPage(source, { ...params, limit: 1 }, fewRetries);
    } catch (error) {
      if (!isRequestSpecific(error)) throw error;
    }
    try {
      return await fetchPage(source, { ...params, limit: 1, page: 2 }, true);
    } catch (error) {
      if (!isRequestSpecific(error) && !isRefused(error)) throw error;
      return undefined;
    }
  }
  const fetchNewestOf = async (slice: TimeSlice) => await fetchNewest(toParams(slice));
  const fetchTotal = async (slice: TimeSlice) => (await fetchNewestOf(slice))?.paging?.total;

  /** Totals count the records of their page only, as rereads have shown: further ones are left out without a request. */
  let areOfPages = false;
  let short = 0;
  const rereads = (): number => (short < MOST_SHORT ? REREADS : 0);

  /** The total counts no record after this page, but pages after it are announced, and the next one has another record. */
  async function isContradicted(slice: TimeSlice, { records, paging }: ListPage, distinct: number) {
    const { total = Infinity, lastPage = 1 } = paging ?? {};
    if (distinct < total || lastPage < 2) return false;
    if (areOfPages) return true;
    try {
      const next = await fetchPage(source, { ...toParams(slice), page: 2 }, true);
      return countDistinct([...records, ...next.records], keyField) > distinct;
    } catch (error) {
      if (!isRefused(error) && !isRequestSpecific(error)) throw error;
      return false;
    }
  }

  /** A request for one millisecond returns only rows with that creation time. */
  const countExtra = (repeated: PageTally['repeated']): Promise<number> =>
    countExtraRows(source, {
      repeated,
      whole: { limit: pageSize },
      toRequest: (record) => {
        const fromMs = Math.floor(timeOf(record, 'created_on') ?? 0);
        return toParams({ fromMs, toMs: fromMs + 1 });
      },
    });

  /** `repeated`: records that came more than once, which the service may count twice. */
  const incompleteOf = (slice: TimeSlice, why: string, repeated?: PageTally['repeated']) => {
    short += 1;
    const keys = [...(repeated?.values() ?? [])].flatMap((record) => recordKey(record, keyField) ?? []);
    const twice = keys.length === 0 ? '' : `; came more than once: ${keys.slice(0, NAMED).join(', ')}`;
    return new SafetySyncError(
      'read_incomplete',
      `${method}, created ${describeSlice(slice)}: ${why}${twice}`,
    );
  };

  /**
   * Reads by page numbers: for a slice that cannot be divided any further, or for records without a creation time. Throws
   * `read_incomplete` when the pages do not show all of it.
   */
  async function* readByPages(slice: TimeSlice): SlicePages {
    // If each response orders ties differently, the attempts together show records that no single one
    // shows. This counts only for a slice that does not grow, and not after a deletion: a new or deleted
    // record would be counted in place of a missing one.
    const together = new PageTally(keyField);
    // A record without a key is known by its text only, which may differ in each response.
    const keys = new Set<string | null>();
    for (let reread = 0; ; reread += 1) {
      const tally = new PageTally(keyField);
      const before = keys.size;
      for await (const page of pages(source, toParams(slice), { tally })) {
        together.add(page);
        for (const record of page.records) keys.add(recordKey(record, keyField));
        yield page.records;
      }
      const shortfall = tally.shortfall();
      const isComplete = shortfall === null || (slice.toMs < Infinity && together.shortfall() === null);
      const isSettled = !tally.isUnproven || keys.size === before;
      if (isComplete && isSettled) return 0;
      if (reread < rereads()) continue;
      if (shortfall === null) {
        // Growth is normal: only a slice that does not grow must show the same records again.
        if (slice.toMs === Infinity) return 0;
        throw incompleteOf(slice, 'each attempt returns other records, and the service returns no total');
      }
      const extra = await countExtra(tally.repeated);
      if (extra === 0 || tally.shortfall(extra) !== null)
        throw incompleteOf(slice, shortfall, tally.repeated);
      return extra;
    }
  }

  return {
    keyField,
    pageSize,
    incompleteOf,
    fetchNewestOf,
    /** Many slices had fewer records than their totals: no slice is cut or halved because of its total any more. */
    areTotalsWrong: (): boolean => short >= MOST_SHORT,
    /** How many records the slice has according to the service; undefined when it returns no total. */
    fetchTotal,

    /**
     * The newest records of the slice, in a response that does not contradict itself; else with the `shortfall`, a
     * `read_incomplete`. A total that stays below the number of records in its response, or of the announced pages, is left
     * out. `isSuspect`: the slice failed before.
     */
    async fetch(slice: TimeSlice, isSuspect = false): Promise<SliceResponse> {
      for (let reread = 0; ; reread += 1) {
        const page = await fetchPage(source, toParams(slice), isSuspect);
        const distinct = countDistinct(page.records, keyField);
        const isOfPage = await isContradicted(slice, page, distinct);
        const isTotalTooSmall = distinct > (page.paging?.total ?? Infinity) || isOfPage;
        if (!isTotalTooSmall && !isShort(page, distinct, pageSize))
          return { page, distinct, shortfall: null };
        if (reread < rereads() && !(isOfPage && areOfPages)) continue;
        if (isTotalTooSmall) {
          areOfPages ||= isOfPage;
          const paging = { total: undefined, lastPage: page.paging?.lastPage };
          return { page: { ...page, paging }, distinct, shortfall: null };
        }
        const total = page.paging?.total ?? 0;
        const tally = new PageTally(keyField);
        tally.add(page);
        if (page.records.length >= total && distinct + (await countExtra(tally.repeated)) >= total)
          return { page, distinct: total, shortfall: null };
        const why = `${total} records were announced, ${distinct} different ones delivered`;
        return { page, distinct, shortfall: incompleteOf(slice, why, tally.repeated) };
      }
    },

    /** True if an unfiltered request returns a record: then the parameters of a failing request cause its failure. */
    async isWell(): Promise<boolean> {
      const newest = await fetchNewest({}, true);
      return newest !== undefined && newest.records.length > 0;
    },

    /** Whether one more failing request may be divided; without a bound a service that fails often would get requests for ever. */
    mayDivide: (): boolean => (divided += 1) <= MOST_DIVIDED,
    /** A record for which the service fails was found: the search for the next one may take as many requests. */
    endSearch(): void {
      found += 1;
      if (found <= MOST_FOUND) divided = 0;
    },

    readByPages,

    /**
     * Reads by page numbers if the slice has records that no filter on creation time has shown: it has fewer different ones
     * than its total; or, even after deletions, its total counts some without a usable `created_on`, or the
     * service compares creation times less exactly than by milliseconds. `hasHoles`: ranges of it were left out.
     */
    async *readUnseen(slice: TimeSlice, seen: Seen, hasHoles: boolean): SlicePages {
      const isOpen = slice.toMs === Infinity;
      // The total of all comes after: records created between the two must not hide anything. The rest of a second is
      // left between the bounds, because inclusive ones of a service that compares whole seconds would count the newest
      // records twice.
      const fromMs = (Math.floor(seen.topMs / SECOND_MS) + 1) * SECOND_MS + 1;
      const added = isOpen ? await fetchTotal({ fromMs, toMs: Infinity }) : 0;
      if (added === undefined) return 0;
      const total = await fetchTotal(slice);
      // After the total of all, because a record that is deleted in between must not count as one without a time.
      const filtered = isOpen
        ? await fetchTotal({ fromMs: slice.fromMs, toMs: growthFrom(seen.topMs) })
        : undefined;
      if (total === undefined) return 0;
      const expected = total - added;
      // How many records a hole has is unknown: then only those count that no filter shows.
      const areFewer = !hasHoles && seen.records < expected;
      const areUndated = filtered !== undefined && expected - filtered > seen.undated;
      if (!areFewer && !areUndated) return 0;
      try {
        return yield* readByPages(slice);
      } catch (error) {
        // A page with the record of a hole fails as well: the sync that closes the last hole reads what no filter shows.
        if (!hasHoles || !isRequestSpecific(error)) throw error;
        return 0;
      }
    },
  };
}
