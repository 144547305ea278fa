import type { Followup } from '../../records.ts';
import type { FollowupQuery } from '../../store/followup-table.ts';
import { toPage } from '../paging.ts';
import type { Readings } from '../readings.ts';
import { ServiceError } from '../service-error.ts';
import { aBoolean, aNumber, aPage, aText, type Method, oneOf, wholeNumber } from '../method.ts';

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
  followup_display_id: aBoolean,
};

export const followupsList: Method = {
  rules: () => rules,
  respond(parameters, { store, readings }) {
    const {
      limit = DEFAULT_LIMIT,
      page = 1,
      followup_display_id: isNumbered = false,
      ...asked
    } = parameters as FollowupParameters;
    const pageSize = Math.min(limit, readings.largestPage ?? limit);
    const query = toQuery(asked, readings);
    const found = store.followups.page(query, readings);
    const { paging, range } = toPage(found.total, pageSize, page, readings);
    const records = found.read(...range);
    if (records.some(({ id }) => readings.unrenderable.includes(id))) throw new ServiceError('server_error');
    return {
      fields: { paging },
      list: {
        name: 'followups',
        kind: 'followup',
        records,
        shape(record) {
          const sent = readings.followups === 'observed' ? asObserved(record as Followup) : record;
          return isNumbered
            ? { ...sent, followup_display_id: store.followups.displayId(record as Followup) }
            : sent;
        },
      },
    };
  },
};

const asText = (time: unknown): unknown => (Number.isSafeInteger(time) ? String(time) : time);

function asObserved(record: Followup): object {
  const { created_on, updated_on, resolved_on = null, due = null, m_completer_id = null } = record;
  const times = {
    created_on: asText(created_on),
    updated_on: asText(updated_on),
    resolved_on: asText(resolved_on),
  };
  return { ...record, ...times, due, m_completer_id };
}

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

type FollowupParameters = FollowupQuery & { limit?: number; page?: number; followup_display_id?: boolean };
