/** Lists without parameters that select, users, and the methods beside those of the specification, as observed. */
import * as z from 'zod';
import type { ListName } from '../../generate/lists.ts';
import type { User } from '../../records.ts';
import { type Method, method, toPage, unaskedPage, wholeNumber } from '../method.ts';
import { ServiceError } from '../service-error.ts';

export const resourcesList = method(unaskedPage.rules, (asked, { store, readings }) => {
  const { records, fields } = unaskedPage.of([...store.resources.values()], asked, readings);
  return { fields, list: { name: 'resources', records } };
});

const userId = {
  id: { id: z.string() },
  user: { user: z.union([z.number(), z.string().min(1)]) },
};

/** As observed, a user of users.list by `id`; or as the specification's example shows it, id and name by `user`. */
export const usersInfo = method(
  ({ usersInfo: parameter }): { id?: z.ZodType; user?: z.ZodType } => userId[parameter],
  (asked, { store, readings }) => {
    const user = store.users.get(String(asked.id ?? asked.user));
    if (user === undefined) throw new ServiceError('content_not_found');
    return { fields: { user: readings.usersInfo === 'user' ? withOneName(user) : user } };
  },
);

/** A user that a test stored may have any fields. */
const withOneName = (user: User & { name?: unknown }): object =>
  'firstname' in user ? { id: user.id, name: user.name ?? `${user.firstname} ${user.lastname}` } : user;

/** All people in one response, leavers included. */
const usersList = method({}, (_, { store }) => {
  const records = [...store.users.values()];
  const columns = [...new Set(records.flatMap((user) => Object.keys(user)))];
  return { fields: { columns }, list: { name: 'users', records } };
});

const whole = (name: ListName): Method =>
  method({}, (_, { store }) => ({ list: { name, records: [...store.lists[name].values()] } }));

const dataListItems = method(
  {
    data_list_id: z.number(),
    include_inactive: z.boolean().optional(),
    include_deleted: z.boolean().optional(),
  },
  ({ data_list_id: asked }, { store }) => {
    const items = [...store.lists.datalistitems.values()] as { data_list_id?: number }[];
    const records = items.filter(({ data_list_id }) => data_list_id === asked);
    return { list: { name: 'datalistitems', records } };
  },
);

const projects = method({ limit: wholeNumber(500), page: wholeNumber() }, (asked, { store, readings }) => {
  const newestFirst = [...store.lists.projects.values()].reverse();
  const { paging, records } = toPage(newestFirst, { limit: asked.limit ?? 10, page: asked.page }, readings);
  return { fields: { paging }, list: { name: 'projects', records } };
});

const completedTrainings = method(
  {
    training_id: z.number().optional(),
    user_id: z.string().optional(),
    has_attachments: z.boolean().optional(),
    limit: wholeNumber(1000),
    page: wholeNumber(),
  },
  (asked, { store, readings }) => {
    const found = [...store.completedTrainings.values()].filter(
      ({ training_id, m_user_id, files }) =>
        (asked.training_id ?? training_id) === training_id &&
        (asked.user_id ?? m_user_id) === m_user_id &&
        (asked.has_attachments === undefined || asked.has_attachments === files.length > 0),
    );
    found.sort((a, b) => b.date_number - a.date_number || b.id - a.id);
    const { paging, records } = toPage(found, { limit: asked.limit ?? 100, page: asked.page }, readings);
    return { fields: { paging }, list: { name: 'completedtrainings', records } };
  },
);

export const listMethods: Readonly<Record<string, Method>> = {
  'users.list': usersList,
  'equipmenttypes.list': whole('equipmenttypes'),
  'trainings.v2.list': whole('trainings'),
  'completedtrainings.v2.list': completedTrainings,
  'forms.list': whole('forms'),
  'fieldoffices.list': whole('fieldoffices'),
  'linesofbusiness.list': whole('linesofbusiness'),
  'companies.list': whole('companies'),
  'jobtitles.list': whole('jobtitles'),
  'roles.list': whole('roles'),
  'projects.list': projects,
  'datalists.list': whole('datalists'),
  'datalistitems.list': dataListItems,
  'account.info': method({}, (_, { store }) => ({ fields: { account: store.account } })),
};
