/** Names of the people whose ids the other streams carry (specification: users.info, known from an example only). */
import { primaryKey, text } from 'drizzle-orm/pg-core';
import { ACCOUNT, BOOKKEEPING } from '../dictionary/description.ts';
import { accountId, bookkeeping, safetySchema } from './columns.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import * as wire from './wire.ts';
import { readFields } from './read-fields.ts';

export const users = safetySchema.table(
  'users',
  {
    account_id: accountId(),
    id: text().notNull(),
    name: text(),
    ...bookkeeping(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.id] })],
);

const userFields = { id: wire.key, name: wire.text };

export const usersStream: StreamDefinition = {
  name: 'users',
  contents: 'names of people',
  descriptions: {
    users: {
      comment:
        'Names of everybody whose id another table carries, looked up one by one and kept (source: users.info).',
      columns: {
        ...ACCOUNT,
        id: 'Identifier of the person. Source: id.',
        name: 'Name. Source: name; null when not sent.',
        ...BOOKKEEPING,
      },
    },
  },
  method: 'users.info',
  responseKey: 'user',
  readMode: { kind: 'lookup' },
  keyField: 'id',
  keyColumn: 'id',
  parent: users,
  fields: userFields,
  children: [],
  versionColumn: null,
  contextColumns: [],
  histories: [],
  identityFields: [],
  userIdColumns: [],
  version: 1,
  toRows(record, _context, report) {
    const fields = readFields(userFields, record, { report });
    const parent: RowOf<typeof users> = { id: fields.id ?? '', name: fields.name };
    return { parent, children: [] };
  },
};
