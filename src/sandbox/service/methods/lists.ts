/** Methods beside those of the specification, as observed: lists with names and completions. */
import type { ListName } from '../../generate/lists.ts';
import { aBoolean, aNumber, aPage, aText, type Checked, type Method, wholeNumber } from '../method.ts';
import { toPage } from '../paging.ts';
import { usersList } from './users.ts';

const whole = (name: ListName): Method => ({
  rules: () => ({}),
  respond: (_, { store }) => ({
    fields: {},
    list: { name, kind: name, records: [...store.lists[name].values()] },
  }),
});

const itemRules = { data_list_id: aNumber, include_inactive: aBoolean, include_deleted: aBoolean };

const dataListItems: Method = {
  rules: () => itemRules,
  required: ['data_list_id'],
  respond(parameters, context) {
    const { fields, list } = whole('datalistitems').respond(parameters, context);
    const { data_list_id: asked } = parameters as Checked<typeof itemRules>;
    const isAsked = (record: object): boolean => 'data_list_id' in record && record.data_list_id === asked;
    return { fields, ...(list && { list: { ...list, records: list.records.filter(isAsked) } }) };
  },
};

const projectRules = { limit: wholeNumber(1, 500), page: aPage };

const projects: Method = {
  rules: () => projectRules,
  respond(parameters, { store, readings }) {
    const { limit = 10, page = 1 } = parameters as Checked<typeof projectRules>;
    const newestFirst = [...store.lists.projects.values()].reverse();
    const { paging, range } = toPage(newestFirst.length, limit, page, readings);
    return {
      fields: { paging },
      list: { name: 'projects', kind: 'project', records: newestFirst.slice(...range) },
    };
  },
};

const completionRules = {
  training_id: aNumber,
  user_id: aText,
  has_attachments: aBoolean,
  limit: wholeNumber(1, 1000),
  page: aPage,
};

const completedTrainings: Method = {
  rules: () => completionRules,
  respond(parameters, { store, readings }) {
    const asked = parameters as Checked<typeof completionRules>;
    const { has_attachments: hasFiles } = asked;
    const found = [...store.completedTrainings.values()].filter(
      ({ training_id, m_user_id, files }) =>
        (asked.training_id ?? training_id) === training_id &&
        (asked.user_id ?? m_user_id) === m_user_id &&
        (hasFiles === undefined || hasFiles === files.length > 0),
    );
    found.sort((a, b) => b.date_number - a.date_number || b.id - a.id);
    const limit = Math.min(asked.limit ?? 100, readings.largestPage ?? Infinity);
    const { paging, range } = toPage(found.length, limit, asked.page ?? 1, readings);
    return {
      fields: { paging },
      list: { name: 'completedtrainings', kind: 'completed-training', records: found.slice(...range) },
    };
  },
};

const accountInfo: Method = {
  rules: () => ({}),
  respond: (_, { store }) => ({ fields: { account: store.account } }),
};

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
  'account.info': accountInfo,
};
