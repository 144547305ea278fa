import { aPage, type Parameters, type Rules } from './method.ts';
import type { Readings, UnaskedPaging } from './readings.ts';
import { ServiceError } from './service-error.ts';

interface Page {
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
  return {
    paging: { total, last_page: last === 0 ? readings.lastPageWhenEmpty : last },
    range: [(page - 1) * limit, page * limit],
  };
}

export function unaskedPagingRules(paging: UnaskedPaging): Rules {
  return paging === 'pages' ? { page: aPage } : {};
}

/** Lists without specified paging. */
export function withUnaskedPaging<T extends object>(
  records: readonly T[],
  parameters: Parameters,
  paging: UnaskedPaging,
  readings: Readings,
): { records: readonly T[]; fields: Record<string, unknown> } {
  if (paging === 'none') return { records, fields: {} };
  const size = paging === 'one-page' ? Math.max(1, records.length) : readings.unaskedPageSize;
  const { page: asked = 1 } = parameters as { page?: number };
  const page = toPage(records.length, size, paging === 'one-page' ? 1 : asked, readings);
  return {
    records: records.slice(...page.range),
    fields: { paging: page.paging },
  };
}
