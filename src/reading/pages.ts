/** Reads one page of a list into memory: pages are bounded by the service's own limits. */
import type { FewRetries, ListPage } from '../api/requests.ts';
import type { Received } from '../shared/received.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import type { ReadRequest } from './read-request.ts';

/** An unasked paging may be anything; this many pages end a list that never ends. */
export const MOST_PAGES = 100_000;

/** Where a response has the records of a stream, and the fields of them that readers look at. */
export const listOf = ({ responseKey, keyField, peekFields = [] }: StreamDefinition) => ({
  listKey: responseKey,
  fields: [keyField, ...peekFields],
});

export async function fetchPage(
  { stream, service: { api, meter, signal } }: Pick<ReadRequest, 'stream' | 'service'>,
  params: Readonly<Record<string, unknown>>,
  fewRetries?: FewRetries,
): Promise<ListPage> {
  return await api.page({
    method: stream.method,
    ...listOf(stream),
    params,
    meter,
    signal,
    fewRetries,
  });
}

/** A page beyond the last one, or one that cannot be asked for: the service refuses the request itself. */
export function isRefusedPage(error: unknown): error is SafetySyncError {
  return (
    error instanceof SafetySyncError &&
    (error.code === 'parameter_invalid' ||
      error.code === 'parameter_unexpected' ||
      error.code === 'content_not_found')
  );
}

/** The key as text; undefined where the record has none that can be used. */
function keyOf(record: Received, keyField: string): string | undefined {
  const key = record.field(keyField);
  const isUsable = typeof key === 'string' || typeof key === 'number' || key instanceof ExactNumber;
  return isUsable ? String(key) : undefined;
}

/** Recognizes a record that comes again: by its key, or by its content where it has no usable key. */
export const nameOf = (record: Received, keyField: string): string => keyOf(record, keyField) ?? record.text;

/** Different records: only these may be held against a total, because a response that repeats records proves nothing. */
export const countDistinct = (records: readonly Received[], keyField: string): number =>
  new Set(records.map((record) => nameOf(record, keyField))).size;

/** What several pages say together: did they show every record that was there from the first page to the last? */
interface PageTally {
  add(page: ListPage, keyField: string): void;
  /** Different records so far. */
  readonly distinct: number;
  /** Keys of records that came again. A record without a key cannot be requested by it. */
  readonly repeated: ReadonlySet<string>;
  /** The page brought a record that no page before had. */
  readonly lastPageWasNews: boolean;
  /** The largest page number that the service has announced. */
  readonly lastPage: number | undefined;
  /**
   * Whether there may be a page after this one, the last that was added. What the service announces ends the list; where
   * it announces nothing, only a page that is empty, refused or repeats what was seen does. A page that is shorter than
   * what was asked for says nothing: the service may give fewer.
   */
  hasFurther(number: number): boolean;
  /** null: complete. Else what does not add up. `twice`: records that the source holds twice, and counts twice. */
  shortfall(twice?: number): string | null;
}

/**
 * A list that only grew pushes records to later pages, where they are seen again: nothing is missed. A total that
 * shrank means that records may have moved to pages already read. A total below the records that were seen is wrong, so
 * it cannot say that nothing is missing. What one page holds twice counts once.
 */
export function createPageTally(): PageTally {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const totals: number[] = [];
  let pagesWithNews = 0;
  let lastPageWasNews = false;
  let lastPage: number | undefined;
  return {
    add({ records, paging }, keyField) {
      const before = seen.size;
      for (const record of records) {
        const key = keyOf(record, keyField);
        if (key !== undefined && seen.has(key)) repeated.add(key);
        seen.add(key ?? record.text);
      }
      lastPageWasNews = seen.size > before;
      if (lastPageWasNews) pagesWithNews += 1;
      if (paging?.total !== undefined) totals.push(paging.total);
      if (paging?.lastPage !== undefined) lastPage = Math.max(lastPage ?? 0, paging.lastPage);
    },
    repeated,
    get distinct() {
      return seen.size;
    },
    get lastPageWasNews() {
      return lastPageWasNews;
    },
    get lastPage() {
      return lastPage;
    },
    hasFurther(number) {
      if (!lastPageWasNews) return false;
      if (lastPage !== undefined) return number < lastPage;
      const total = totals.at(-1);
      return total === undefined || seen.size < total;
    },
    shortfall(twice = 0) {
      const [first] = totals;
      if (first === undefined) {
        // No total to hold the records against: then every page that was announced must have brought some.
        return lastPage !== undefined && lastPage > Math.max(1, pagesWithNews)
          ? `${lastPage} pages were announced, ${pagesWithNews} delivered`
          : null;
      }
      for (const [at, total] of totals.entries()) {
        if (total < (totals[at - 1] ?? 0))
          return `the total shrank from ${String(totals[at - 1])} to ${total} while pages were read`;
      }
      const last = totals.at(-1) ?? first;
      const distinct = seen.size + twice;
      const isRight = distinct >= first && distinct <= last;
      return isRight ? null : `${first} records were announced, ${seen.size} delivered`;
    },
  };
}
