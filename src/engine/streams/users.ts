/**
 * People, from users.list; single ones that it lacks, from users.info. A user record has much private data that is not
 * needed: only the listed fields are kept, and `engine/privacy` drops the others before anything is stored.
 */

import { DAY_MS } from '../../shared/time.ts';
import { bookkeeping, safetyTable } from './columns.ts';
import { as, column, field, meaningsOf, tableColumns } from './fields.ts';
import { addColumns, fieldReader } from './read-fields.ts';
import type { RowOf, StreamDefinition, WireRecord } from './stream.ts';
import { anything } from './wire.ts';

const NEEDS = (word: string): string => `null unless USERS_KEEP has ${word}.`;

const sentFields = {
  id: field('id', as.userKey, 'Identifier of the person.'),
  name: field('name', as.text, 'First and last name, or the name where the service sends one.'),
  first_name: field('firstname', as.text, 'First name.'),
  last_name: field('lastname', as.text, 'Last name.'),
  employee_number: field('employeeNumber', as.text, 'Number of the employee.'),
  email: field('email', as.text, 'E-mail address.', NEEDS('email')),
  username: field('username', as.text, 'Name for signing in.', NEEDS('username')),
  job_title_id: field('jobTitle_id', as.identifier, 'Job title.'),
  role_id: field('role_id', as.identifier, 'Role in the service.'),
  field_office_ids: field('fieldOffice_id', as.identifiers, 'Field offices.'),
  line_of_business_ids: field('lineOfBusiness_id', as.identifiers, 'Lines of business.'),
  client_ids: field('clients_id', as.identifiers, 'Clients.'),
  supervisor_id: field('supervisor_id', as.userId, 'The supervisor.'),
  manager_id: field('manager_id', as.userId, 'The manager.'),
  hired_on: field('hireDate', as.day, 'Day of hiring, in UTC.'),
  terminated_on: field('terminationDate', as.day, 'Day of termination, in UTC.'),
};

const userColumns = {
  ...sentFields,
  last_seen_at: column(
    as.instant.build,
    'The later one of the last access by web and by mobile. Source: lastWebAccess, lastMobileAccess (ms); null when neither was sent.',
  ),
};

export const users = safetyTable('users', ['id'], { ...tableColumns(userColumns), ...bookkeeping() });

const inRaw = (name: string) => ({ ...anything, name });

const fields = {
  ...sentFields,
  // Fields without a column of their own.
  last_seen_at: { ...as.instant.wire, name: 'lastWebAccess' },
  last_mobile_access: { ...as.instant.wire, name: 'lastMobileAccess' },
  project_ids: inRaw('projects_id'),
  mentor_id: { ...inRaw('mentor_id'), isUser: true as const },
  hse_id: { ...inRaw('hse_id'), isUser: true as const },
  creator_id: { ...inRaw('creator_id'), isUser: true as const },
  phones: { ...inRaw('cellPhone'), isText: true as const },
  emergency_contacts: { ...inRaw('emergencyContact'), isText: true as const },
  metavalues: { ...inRaw('metavalues'), isText: true as const },
};

/** Words of USERS_KEEP, which are columns of `fields`: without the word the field is not stored. */
export const KEEPABLE = ['email', 'username', 'phones', 'emergency_contacts', 'metavalues'] as const;

/** The name of a person in daily use. */
function nameOf({ name, firstname, lastname }: WireRecord): string | undefined {
  if (typeof name === 'string' && name.trim() !== '') return name;
  const parts = [firstname, lastname].filter((part) => typeof part === 'string' && part.trim() !== '');
  return parts.length === 0 ? undefined : parts.map((part) => String(part).trim()).join(' ');
}

const readUser = fieldReader(fields);

/** The order of ISO texts is that of their times. */
const latest = (...times: readonly (string | null)[]): string | null =>
  times
    .filter((time) => time !== null)
    .toSorted()
    .at(-1) ?? null;

export const usersStream: StreamDefinition = {
  name: 'users',
  contents: 'names of people',
  descriptions: {
    users: {
      comment:
        'People (source: users.list, or users.info for an id that it lacks). People that the lists no longer contain keep their name.',
      columns: meaningsOf(userColumns),
    },
  },
  method: 'users.list',
  responseKey: 'users',
  readMode: { kind: 'people', lists: ['users.list'] },
  optionalMethods: ['users.list', 'users.info'],
  staleAfterMs: 2 * DAY_MS,
  keyField: 'id',
  parent: users,
  fields,
  personal: {
    keepable: KEEPABLE,
    notKept: ['created', 'registered_on', 'sseDate', 'isDriver', 'isRegulatedDriver'],
    coveredBy: { first_name: 'name', last_name: 'name', last_mobile_access: 'last_seen_at' },
    nameOf,
  },
  children: [],
  histories: [],
  normalizerVersion: 2,
  toRows(record, _context, addIssue) {
    const read = readUser(record, addIssue);
    const parent: RowOf<typeof users> = addColumns(read, {
      name: (read.name?.trim() ? read.name : nameOf(record)) ?? null,
      last_seen_at: latest(read.last_seen_at, read.last_mobile_access),
    });
    return { parent, children: [] };
  },
};
