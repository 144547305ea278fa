import { ACCOUNT, BOOKKEEPING, type Descriptions } from './description.ts';

export const PEOPLE: Descriptions = {
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
  reporting_settings: {
    comment: 'How the views count days, one row per account; written by the worker.',
    columns: {
      ...ACCOUNT,
      timezone: 'Time zone in which days begin (REPORTING_TIMEZONE); UTC where an account has no row.',
      changed_at: 'When the time zone was last changed.',
    },
  },
  reporting_clock: {
    comment:
      'What day it is for each account that has a row in reporting_settings; UTC holds for the others.',
    columns: {
      ...ACCOUNT,
      timezone: 'Time zone in which days begin (REPORTING_TIMEZONE).',
      today: 'Today in that time zone.',
    },
  },
};
