import { aPage } from './parameters.ts';
import type { Parameters, Rules } from './parameters.ts';
import type { Readings, UnaskedPaging } from './readings.ts';
import { ServiceError } from './service-error.ts';

export interface Page {
  paging: { total: number; last_page: number };
  /** From 1. A page without results when it lies beyond the last one. */
  number: number;
}

/** "Valid pages run to paging.last_page"; the first page is always valid, results or not. */
export function toPage(total: number, limit: number, number: number, readings: Readings): Page {
  const last = Math.ceil(total / limit);
  if (number > Math.max(1, last) && readings.pastLastPage === 'refused') {
    throw new ServiceError('parameter_invalid', `page: the last page is ${last}`);
  }
  return { paging: { total, last_page: last === 0 ? readings.lastPageWhenEmpty : last }, number };
}

export function unaskedPagingRules(paging: UnaskedPaging): Rules {
  return paging === 'pages' ? { page: aPage } : {};
}

/** Lists for which paging is "not shown". */
export function withUnaskedPaging<T>(
  records: readonly T[],
  parameters: Parameters,
  paging: UnaskedPaging,
  readings: Readings,
): { records: readonly T[]; fields: Record<string, unknown> } {
  if (paging === 'none') return { records, fields: {} };
  const size = paging === 'one-page' ? Math.max(1, records.length) : readings.unaskedPageSize;
  const number = paging === 'pages' ? ((parameters['page'] as number | undefined) ?? 1) : 1;
  const page = toPage(records.length, size, number, readings);
  return {
    records: records.slice((page.number - 1) * size, page.number * size),
    fields: { paging: page.paging },
  };
}
