import { hashText } from '../../random.ts';
import type { Followup } from '../../records.ts';
import type { FollowupQuery, FollowupTable } from '../../store/followup-table.ts';
import { toPage } from '../paging.ts';
import type { Readings } from '../readings.ts';
import { ServiceError } from '../service-error.ts';
import { aNumber, aPage, aText, type Method, oneOf, wholeNumber } from '../method.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

const rules = {
  form_id: aNumber,
  limit: wholeNumber(1, MAX_LIMIT),
  page: aPage,
  status: oneOf('all', 'open', 'closed', 'overdue'),
  observer_id: aText,
  assignee_id: aText,
  response_id: aNumber,
  created_before: aNumber,
  created_after: aNumber,
  updated_before: aNumber,
  updated_after: aNumber,
};

export const followupsList: Method = {
  rules: () => rules,
  respond(parameters, { store, readings }) {
    const { limit = DEFAULT_LIMIT, page = 1, ...asked } = parameters as FollowupParameters;
    const pageSize = Math.min(limit, readings.largestPage ?? limit);
    const query = toQuery(asked, readings);
    const found = find(store.followups.page(query, readings), query, readings);
    const { paging, range } = toPage(found.total, pageSize, page, readings);
    const records = found.read(...range);
    if (records.some(({ id }) => readings.unrenderable.includes(id))) throw new ServiceError('server_error');
    return {
      fields: readings.followupsPaging === 'present' ? { paging } : {},
      list: { name: 'followups', kind: 'followup', records },
    };
  },
};

type Found = ReturnType<FollowupTable['page']>;

/** Changes the bounds so that a comparison in ms gives the result of a comparison in whole seconds. */
function toQuery(query: FollowupQuery, { followupTimes, followupBounds }: Readings): FollowupQuery {
  if (followupTimes === 'milliseconds') return query;
  const { created_after: after, created_before: before } = query;
  const second = (ms: number): number => Math.floor(ms / 1000) * 1000;
  const isExclusive = followupBounds === 'exclusive';
  return {
    ...query,
    ...(after === undefined ? {} : { created_after: isExclusive ? second(after) + 999 : second(after) }),
    ...(before === undefined ? {} : { created_before: isExclusive ? second(before) : second(before) + 999 }),
  };
}

/** The result of a query where the service deviates from the simplest reading: rows, and their number of records. */
function find(found: Found, query: FollowupQuery, { undatedFollowups, repeatedRows }: Readings): Found {
  if (undatedFollowups === 'as-before' && !repeatedRows) return found;
  let records = found.read(0, found.total);
  if (undatedFollowups === 'unfiltered') {
    const isUndated = ({ created_on }: Partial<Followup>): boolean => typeof created_on !== 'number';
    const isFiltered = query.created_after !== undefined || query.created_before !== undefined;
    const undated = isFiltered ? [] : records.filter(isUndated);
    records = [...records.filter((record) => !isUndated(record)), ...undated];
  }
  const isRepeated = ({ id }: Followup): boolean => repeatedRows && hashText(id) % 10 === 0;
  const rows = records.flatMap((record) => (isRepeated(record) ? [record, record] : [record]));
  return { total: records.length, read: (from, to) => rows.slice(from, to) };
}

type FollowupParameters = FollowupQuery & { limit?: number; page?: number };
