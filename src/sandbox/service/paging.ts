import { aPage, type Parameters, type Rules } from './parameters.ts';
import type { Readings, UnaskedPaging } from './readings.ts';
import { ServiceError } from './service-error.ts';

export interface PageParameters {
  paging: { total: number; last_page: number };
  /** From 1. A page after the last one has no results. */
  number: number;
}

/** "Valid pages run to paging.last_page"; the first page is always valid, even without results. */
export function toPage(total: number, limit: number, number: number, readings: Readings): PageParameters {
  const last = Math.ceil(total / limit);
  if (number > Math.max(1, last) && readings.pastLastPage === 'refused') {
    throw new ServiceError('parameter_invalid', `page: the last page is ${last}`);
  }
  return { paging: { total, last_page: last === 0 ? readings.lastPageWhenEmpty : last }, number };
}

/** Start and end of a page's records. */
export function rangeOf(page: number, limit: number, readings: Readings): [from: number, to: number] {
  const repeated = readings.pagesOverlap === 'by-one' && page > 1 ? 1 : 0;
  return [(page - 1) * limit - repeated, page * limit];
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
  const number =
    paging === 'unreadable' || paging === 'one-page' ? 1 : ((parameters['page'] as number | undefined) ?? 1);
  const page = toPage(records.length, size, number, readings);
  return {
    records: records.slice(...rangeOf(page.number, size, readings)),
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

/** The paging object in this reading. */
export function shapePaging(paging: PageParameters['paging'], readings: Readings): Record<string, unknown> {
  const total = shownTotal(paging.total, readings);
  const { pagingFields } = readings;
  const shown = {
    ...(pagingFields === 'both' || pagingFields === 'total-only' ? { total } : {}),
    ...(pagingFields === 'both' || pagingFields === 'last-page-only' ? { last_page: paging.last_page } : {}),
  };
  if (readings.numbers === 'numbers') return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, String(value)]));
}

/** Deleted records that are included in a total. */
const DELETED = 3;
const CAP = 20;

function shownTotal(total: number, { pagingTotal }: Readings): number {
  switch (pagingTotal) {
    case 'exact':
      return total;
    case 'counts-deleted':
      return total + DELETED;
    case 'capped':
      return Math.min(total, CAP);
  }
}
