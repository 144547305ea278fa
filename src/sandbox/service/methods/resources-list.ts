import type { Method } from '../method.ts';
import { unaskedPagingRules, withUnaskedPaging } from '../paging.ts';

export const resourcesList: Method = {
  rules: (readings) => unaskedPagingRules(readings.resourcesPaging),
  respond(parameters, { store, readings }) {
    const { records, fields } = withUnaskedPaging(
      [...store.resources.values()],
      parameters,
      readings.resourcesPaging,
      readings,
    );
    return { fields, list: { name: 'resources', kind: 'resource', records } };
  },
};
