import { aPage, type Parameters, type Rules } from './method.ts';
import type { Readings, UnaskedPaging } from './readings.ts';
import { ServiceError } from './service-error.ts';

export interface Page {
  paging: { total: number; last_page: number };
  /** Start and end of its records. A page after the last one has none. */
  range: [from: number, to: number];
}

/** "Valid pages run to paging.last_page"; the first page is always valid, even without results. */
export function toPage(total: number, limit: number, page: number, readings: Readings): Page {
  const last = Math.ceil(total / limit);
  if (page > Math.max(1, last) && readings.pastLastPage === 'refused') {
    throw new ServiceError('parameter_invalid', `page: the last page is ${last}`);
  }
  const repeated = readings.pagesOverlap === 'by-one' && page > 1 ? 1 : 0;
  return {
    paging: { total, last_page: last === 0 ? readings.lastPageWhenEmpty : last },
    range: [(page - 1) * limit - repeated, page * limit],
  };
}

export function unaskedPagingRules(paging: UnaskedPaging): Rules {
  return paging === 'pages' || paging === 'silent-pages' ? { page: aPage } : {};
}

/** Lists without specified paging. */
export function withUnaskedPaging<T extends object>(
  records: readonly T[],
  parameters: Parameters,
  paging: UnaskedPaging,
  readings: Readings,
): { records: readonly T[]; fields: Record<string, unknown> } {
  if (paging === 'none')
    return { records: readings.doubles === 'none' ? records : withDoubles(records), fields: {} };
  const size = paging === 'one-page' ? Math.max(1, records.length) : readings.unaskedPageSize;
  const { page: asked = 1 } = parameters as { page?: number };
  const number = paging === 'unreadable' || paging === 'one-page' ? 1 : asked;
  const page = toPage(records.length, size, number, readings);
  return {
    records: records.slice(...page.range),
    fields: paging === 'silent-pages' ? {} : { paging: page.paging },
  };
}

/** More records than a worker compares at once. */
const DOUBLES_APART = 2100;

/** Sends the first record again at the end, in an older version, with repetitions of the others in between. */
function withDoubles<T extends object>(records: readonly T[]): T[] {
  const [first, ...others] = records;
  if (first === undefined || others.length === 0) return [...records];
  const between = Array.from({ length: DOUBLES_APART }, (_, index) => others[index % others.length] as T);
  return [first, ...others, ...between, { ...first, ...earlier(first) }];
}

function earlier(record: object): object {
  return 'serialNumber' in record ? { serialNumber: 'as it was before' } : { title: 'as it was before' };
}

/** Deleted records that are included in a total. */
const DELETED = 3;
const CAP = 20;

/** The paging object in this reading. */
export function shapePaging(paging: Page['paging'], readings: Readings): Record<string, unknown> {
  const { pagingFields, pagingTotal } = readings;
  const exact = paging.total;
  const totals = { exact, 'counts-deleted': exact + DELETED, capped: Math.min(exact, CAP) };
  const total = totals[pagingTotal];
  const shown = {
    ...(pagingFields === 'both' || pagingFields === 'total-only' ? { total } : {}),
    ...(pagingFields === 'both' || pagingFields === 'last-page-only' ? { last_page: paging.last_page } : {}),
  };
  if (readings.numbers === 'numbers') return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, String(value)]));
}
