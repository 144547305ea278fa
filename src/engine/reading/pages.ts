/** Reads a list page by page, and decides whether its pages show all of it. A page is held in memory, because the service limits it. */
import type { Received } from '../../shared/received.ts';
import type { ListPage, ListRequest } from '../api/requests.ts';
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import type { ReadRequest } from './read-request.ts';
import { countDistinct, recordName } from './record-fields.ts';

/** Bounds a list that would never end. */
const MOST_PAGES = 100_000;
/** Repeated records that are requested one by one. */
const MOST_REPEATS = 20;

/** The stream and the service of a request. */
export type PageSource = Pick<ReadRequest, 'stream' | 'service'>;
export type Params = Readonly<Record<string, unknown>>;

/** The request for a stream's list. `fewRetries`: it is similar to a request that failed, and two attempts show whether it fails, too. */
export function toListRequest(
  { stream, service }: PageSource,
  params: Params,
  fewRetries = false,
): ListRequest {
  const { method, responseKey: listKey, keyField, peekFields = [] } = stream;
  const { meter, signal } = service;
  const mostRetriesInARow = fewRetries ? 1 : undefined;
  return { method, listKey, fields: [keyField, ...peekFields], params, meter, signal, mostRetriesInARow };
}

export async function fetchPage(source: PageSource, params: Params, fewRetries?: boolean): Promise<ListPage> {
  return await source.service.api.page(toListRequest(source, params, fewRetries));
}

const REFUSED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'parameter_invalid',
  'parameter_unexpected',
  'content_not_found',
]);

/** Returns a `read_incomplete` error; throws other errors. */
export function toIncomplete(error: unknown): SafetySyncError {
  if (error instanceof SafetySyncError && error.code === 'read_incomplete') return error;
  throw error;
}

/** The service refuses a parameter: a page beyond the last one, or an unknown equipment type. */
export function isRefused(error: unknown): error is SafetySyncError {
  return error instanceof SafetySyncError && REFUSED.has(error.code);
}

/**
 * Counts the different records of several pages, and compares them with the totals that the pages announce.
 *
 * A list that only grew moves records to later pages, where they are seen again: nothing is missed. A total that shrank
 * means that records may have moved to pages already read. A total below the number of records that were seen is wrong,
 * so it cannot prove that nothing is missing.
 */
export class PageTally {
  /** Records that were seen more than once, by name. */
  readonly repeated = new Map<string, Received>();
  /** Number of pages counted so far. */
  pages = 0;
  /** The largest page number that the service has announced. */
  lastPage: number | undefined;
  /** The service refused the page after the last one that was added. */
  refused: SafetySyncError | undefined;
  readonly #keyField: string;
  readonly #names = new Set<string>();
  readonly #totals: number[] = [];
  #pagesWithNews = 0;
  #isLastNews = false;
  /** One page contained the same record twice. */
  #hasRepeatsInPage = false;

  constructor(keyField: string) {
    this.#keyField = keyField;
  }

  add({ records, paging }: ListPage): void {
    const before = this.#names.size;
    const names = records.map((record) => recordName(record, this.#keyField));
    this.#hasRepeatsInPage ||= new Set(names).size < names.length;
    for (const [at, record] of records.entries()) {
      const name = names[at] ?? '';
      if (this.#names.has(name)) this.repeated.set(name, record);
      this.#names.add(name);
    }
    this.#isLastNews = this.#names.size > before;
    this.pages += 1;
    if (this.#isLastNews) this.#pagesWithNews += 1;
    if (paging?.total !== undefined) this.#totals.push(paging.total);
    if (paging?.lastPage !== undefined) this.lastPage = Math.max(this.lastPage ?? 0, paging.lastPage);
  }

  /**
   * Without a total, a deletion may have moved a record to a page already read, and a refused page may not be the end. Only
   * the records of a single page existed at one time, and only if no further request failed.
   */
  get isUnproven(): boolean {
    return this.#totals.length === 0 && (this.#pagesWithNews > 1 || this.refused !== undefined);
  }

  /**
   * Whether there may be another page. The list ends where the service announces it. Without an announcement it ends with a
   * page that is empty or repeats known records. A page that is shorter than the limit proves nothing, because the service
   * may return fewer records than that.
   */
  hasFurther(): boolean {
    if (!this.#isLastNews) return false;
    if (this.lastPage !== undefined) return this.pages < this.lastPage;
    const total = this.#totals.at(-1);
    return total === undefined || this.#names.size < total;
  }

  /** null: complete. Else what is missing. `extra`: rows that the total counts although their records are known. */
  shortfall(extra = 0): string | null {
    const [first] = this.#totals;
    const last = this.#totals.at(-1);
    if (first === undefined || last === undefined) {
      // Without a total every page that was announced must have brought new records.
      if (this.lastPage !== undefined && this.lastPage > Math.max(1, this.#pagesWithNews))
        return `${this.lastPage} pages were announced, ${this.#pagesWithNews} delivered`;
      // The service may end the pages after as many rows as it has distinct records. If pages repeat records, the last records are
      // then missing.
      return this.#hasRepeatsInPage ? 'pages repeat records, and the service returns no total' : null;
    }
    for (const [at, total] of this.#totals.entries()) {
      const before = this.#totals[at - 1] ?? 0;
      if (total < before) return `the total shrank from ${before} to ${total} while pages were read`;
    }
    const rows = this.#names.size + extra;
    const isComplete = rows >= first && rows <= last;
    return isComplete ? null : `${first} records were announced, ${this.#names.size} delivered`;
  }
}

/**
 * Yields the pages of a list in their order, and adds each to the tally when the consumer requests the next one. A refused
 * page ends the list, unless it is the first one.
 */
export async function* pages(
  source: PageSource,
  params: Params,
  { tally, first }: { readonly tally: PageTally; readonly first?: ListPage },
): AsyncGenerator<ListPage, void, undefined> {
  for (let number = 1; number <= MOST_PAGES; number += 1) {
    let page = number === 1 ? first : undefined;
    try {
      page ??= await fetchPage(source, number === 1 ? params : { ...params, page: number });
    } catch (error) {
      if (number === 1 || !isRefused(error)) throw error;
      tally.refused = error;
      return;
    }
    yield page;
    tally.add(page);
    if (!tally.hasFurther()) return;
  }
}

/** The argument of `countExtraRows`: a list with repeated records, and its requests. */
interface DoubtfulList {
  readonly repeated: PageTally['repeated'];
  /** Requests the whole list. */
  readonly whole: Params & { readonly limit: number };
  /** Requests one record; undefined: there are no parameters for it. */
  readonly toRequest: (record: Received) => (Params & { readonly limit: number }) | undefined;
}

/**
 * How many rows the source has in addition to the first one of the same record. A repeated row alone proves nothing, because
 * it may have replaced another record. So each repeated record is requested by itself, and the response counts if it is
 * complete. A response as long as that of the whole list may have been cut: the service may return fewer rows than `limit`.
 */
export async function countExtraRows(
  source: PageSource,
  { repeated, whole, toRequest }: DoubtfulList,
): Promise<number> {
  const { keyField } = source.stream;
  const requests = [...repeated.values()].map(toRequest).filter((params) => params !== undefined);
  const different = new Map(requests.map((params) => [JSON.stringify(params), params]));
  if (different.size === 0) return 0;
  const mostRows = Math.min(whole.limit, (await fetchPage(source, whole)).records.length);
  let extra = 0;
  for (const params of [...different.values()].slice(0, MOST_REPEATS)) {
    const { records, paging } = await fetchPage(source, params);
    if (records.length < mostRows && records.length === paging?.total)
      extra += records.length - countDistinct(records, keyField);
  }
  return extra;
}
