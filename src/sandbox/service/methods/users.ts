import * as z from 'zod';
import type { User } from '../../records.ts';
import { aText, type Method } from '../method.ts';
import { ServiceError } from '../service-error.ts';
import { shapeRecord } from '../shape-record.ts';

/** Everybody at once, also people who have left. */
export const usersList: Method = {
  rules: () => ({}),
  respond: (_, { store }) => {
    const records = [...store.users.values()];
    const columns = [...new Set(records.flatMap((user) => Object.keys(user)))];
    return { fields: { columns }, list: { name: 'users', kind: 'user', records } };
  },
};

const rules = {
  id: { id: aText },
  user: { user: z.union([z.number(), z.string().min(1)]).describe('a user id') },
};

/** As observed, a user of users.list by `id`; or as the specification's example shows it, id and name by `user`. */
export const usersInfo: Method = {
  rules: ({ usersInfo: parameter }) => rules[parameter],
  respond(parameters, { store, readings }) {
    const asked = parameters[readings.usersInfo];
    if (asked === undefined) throw new ServiceError('parameter_missing', `required: ${readings.usersInfo}`);
    const id = `${asked as string | number}`;
    const user = store.users.get(id);
    if (user === undefined) throw new ServiceError('content_not_found', `no user has the id ${id}`);
    const sent = readings.usersInfo === 'user' ? withOneName(user) : user;
    return { fields: { user: shapeRecord('user', sent, readings) } };
  },
};

/** A user that a test stored may have any fields. */
const withOneName = (user: User & { name?: unknown }): object =>
  'firstname' in user
    ? { id: user.id, name: 'name' in user ? user.name : `${user.firstname} ${user.lastname}` }
    : user;
