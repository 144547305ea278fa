import type { Method } from '../method.ts';
import { required } from '../parameters.ts';
import { ServiceError } from '../service-error.ts';
import { shapeRecord } from '../shape-record.ts';

/**
 * Documented only by a protocol example, where `user` is a number, although identifiers are strings elsewhere. Both are
 * accepted.
 */
export const usersInfo: Method = {
  rules: () => ({
    user: required({
      isRequired: true,
      expected: 'a user id',
      accepts: (value) => typeof value === 'number' || (typeof value === 'string' && value !== ''),
    }),
  }),
  respond(parameters, { store, readings }) {
    const id = String(parameters['user']);
    const user = store.users.get(id);
    if (user === undefined) throw new ServiceError(readings.unknownUser, `no user has the id ${id}`);
    return { fields: { user: shapeRecord('user', user, readings) } };
  },
};
