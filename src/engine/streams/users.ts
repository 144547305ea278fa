/** Names of the people with ids in the other streams (specification: users.info, known from an example only). */
import { primaryKey } from 'drizzle-orm/pg-core';
import { ACCOUNT, BOOKKEEPING } from '../../dictionary/description.ts';
import { accountId, bookkeeping, safetySchema } from './columns.ts';
import { as, field, meaningsOf, tableColumns } from './fields.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import { addColumns, fieldReader } from './read-fields.ts';

const userFields = {
  id: field('id', as.userKey, 'Identifier of the person.'),
  name: field('name', as.text, 'Name.'),
};

export const users = safetySchema.table(
  'users',
  { account_id: accountId(), ...tableColumns(userFields), ...bookkeeping() },
  (t) => [primaryKey({ columns: [t.account_id, t.id] })],
);

const readUser = fieldReader(userFields);

export const usersStream: StreamDefinition = {
  name: 'users',
  contents: 'names of people',
  descriptions: {
    users: {
      comment:
        'Names of the people with an id in other tables, looked up one by one and kept (source: users.info).',
      columns: { ...ACCOUNT, ...meaningsOf(userFields), ...BOOKKEEPING },
    },
  },
  method: 'users.info',
  responseKey: 'user',
  readMode: { kind: 'lookup' },
  keyField: 'id',
  parent: users,
  fields: userFields,
  children: [],
  changeTimeColumn: null,
  histories: [],
  identityFields: [],
  normalizerVersion: 1,
  toRows(record, _context, addIssue) {
    const fields = readUser(record, { addIssue });
    const parent: RowOf<typeof users> = addColumns(fields, { id: fields.id ?? '' });
    return { parent, children: [] };
  },
};
