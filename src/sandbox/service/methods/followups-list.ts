import type { FollowupQuery } from '../../store/followup-index.ts';
import type { Method } from '../method.ts';
import { rangeOf, toPage } from '../paging.ts';
import { aNumber, aPage, aText, oneOf, wholeNumber } from '../parameters.ts';

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
    const { limit = DEFAULT_LIMIT, page = 1, ...rest } = parameters as FollowupParameters;
    const pageSize = Math.min(limit, readings.largestPage ?? limit);
    const query = pickQuery(rest);
    const found = store.followups.page(query, {
      bounds: readings.followupBounds,
      order: readings.followupOrder,
      ties: readings.followupTies,
    });
    const { paging, number } = toPage(found.total, pageSize, page, readings);
    return {
      fields: readings.followupsPaging === 'present' ? { paging } : {},
      list: {
        name: 'followups',
        kind: 'followup',
        records: found.read(...rangeOf(number, pageSize, readings)),
      },
    };
  },
};

type FollowupParameters = FollowupQuery & { limit?: number; page?: number };

function pickQuery(parameters: FollowupQuery): FollowupQuery {
  const query = Object.entries(parameters).filter(
    ([name]) => name !== 'pretty' && Object.hasOwn(rules, name),
  );
  return Object.fromEntries(query);
}
