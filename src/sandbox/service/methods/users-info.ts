import * as z from 'zod';
import type { Method } from '../method.ts';
import { ServiceError } from '../service-error.ts';
import { shapeRecord } from '../shape-record.ts';

/**
 * Documented only by a protocol example, where `user` is a number, although identifiers are strings elsewhere. Both are
 * accepted.
 */
export const usersInfo: Method = {
  rules: () => ({ user: z.union([z.number(), z.string().min(1)]).describe('a user id') }),
  required: ['user'],
  respond(parameters, { store, readings }) {
    const id = String(parameters['user']);
    const user = store.users.get(id);
    if (user === undefined) throw new ServiceError(readings.unknownUser, `no user has the id ${id}`);
    return { fields: { user: shapeRecord('user', user, readings) } };
  },
};
