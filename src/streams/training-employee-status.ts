/** Training status of each employee and what was completed when (specification: training-employee-status.list). */
import { boolean, date, foreignKey, index, numeric, primaryKey, text } from 'drizzle-orm/pg-core';
import { MINUTE_MS } from '../shared/time.ts';
import { TRAINING } from '../dictionary/training.ts';
import {
  accountId,
  bigintText,
  bookkeeping,
  instant,
  safetySchema,
  statePeriod,
  stateStart,
} from './columns.ts';
import { toInstant } from './time-text.ts';
import { keyedItems } from './keyed-items.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import * as wire from './wire.ts';
import { as, itemsOf, readFields } from './read-fields.ts';
import type { Item } from './wire.ts';

const statusColumns = () => ({
  account_id: accountId(),
  user_id: text().notNull(),
  status: text(),
  percent_complete: numeric(),
  incomplete_training_ids: bigintText().array(),
  complete_training_ids: bigintText().array(),
  calculated_at: instant(),
});

export const trainingEmployeeStatus = safetySchema.table(
  'training_employee_status',
  { ...statusColumns(), ...stateStart(), ...bookkeeping() },
  (t) => [primaryKey({ columns: [t.account_id, t.user_id] })],
);

/** Superseded states; with the present ones they are `training_employee_status_history`. */
export const trainingEmployeeStatusStates = safetySchema.table(
  'training_employee_status_states',
  { ...statusColumns(), ...statePeriod() },
  (t) => [
    primaryKey({
      name: 'training_employee_status_states_pk',
      columns: [t.account_id, t.user_id, t.valid_from],
    }),
  ],
);

const completionColumns = () => ({
  account_id: accountId(),
  user_id: text().notNull(),
  training_id: bigintText().notNull(),
  completed_on: date(),
  expires_on: date(),
  starts_expiring_on: date(),
  is_required: boolean(),
});

export const trainingCompletions = safetySchema.table(
  'training_completions',
  { ...completionColumns(), ...stateStart() },
  (t) => [
    primaryKey({ columns: [t.account_id, t.user_id, t.training_id] }),
    foreignKey({
      name: 'training_completions_status_fk',
      columns: [t.account_id, t.user_id],
      foreignColumns: [trainingEmployeeStatus.account_id, trainingEmployeeStatus.user_id],
    }).onDelete('cascade'),
    index('training_completions_expires_idx').on(t.expires_on),
  ],
);

/** States that were superseded or ended; with the present ones they are `training_completion_history`. */
export const trainingCompletionStates = safetySchema.table(
  'training_completion_states',
  { ...completionColumns(), ...statePeriod() },
  (t) => [
    primaryKey({
      name: 'training_completion_states_pk',
      columns: [t.account_id, t.user_id, t.training_id, t.valid_from],
    }),
  ],
);

const completionFields = {
  id: as('training_id', wire.bigint),
  date_number: as('completed_on', wire.date),
  expiresOn: as('expires_on', wire.date),
  startsExpiringOn: as('starts_expiring_on', wire.date),
  is_required: wire.boolean,
};

const statusFields = {
  status: wire.oneOf(['incomplete', 'expiring', 'active', 'unassigned']),
  m_user_id: as('user_id', wire.key),
  percent_complete: wire.numeric,
  incomplete_training_ids: wire.list(wire.bigint),
  complete_training_ids: wire.list(wire.bigint),
  last_completed: itemsOf(trainingCompletions, completionFields),
};

/** Of two completions of one training the more recent one is the last one. */
function isMoreRecent(kept: Item, next: Item): boolean {
  const day = (item: Item) => wire.date.read(item.record['date_number'], () => undefined) ?? '';
  return day(next) >= day(kept);
}

export const trainingEmployeeStatusStream: StreamDefinition = {
  name: 'training-employee-status',
  contents: 'training',
  descriptions: TRAINING,
  method: 'training-employee-status.list',
  responseKey: 'employees',
  readMode: { kind: 'cached_report', cacheMs: 15 * MINUTE_MS, pageSize: 1000 },
  keyField: 'm_user_id',
  keyColumn: 'user_id',
  parent: trainingEmployeeStatus,
  fields: statusFields,
  children: [trainingCompletions],
  versionColumn: null,
  contextColumns: ['calculated_at'],
  histories: [
    {
      of: trainingEmployeeStatus,
      states: trainingEmployeeStatusStates,
      since: 'calculated_at',
      untracked: ['calculated_at'],
    },
    { of: trainingCompletions, states: trainingCompletionStates, since: 'calculated_at', untracked: [] },
  ],
  identityFields: [],
  userIdColumns: [{ table: trainingEmployeeStatus, column: 'user_id' }],
  version: 1,
  toRows(record, context, report) {
    const fields = readFields(statusFields, record, { report });
    const userId = fields.user_id ?? '';
    const parent: RowOf<typeof trainingEmployeeStatus> = {
      user_id: userId,
      status: fields.status,
      percent_complete: fields.percent_complete,
      incomplete_training_ids: fields.incomplete_training_ids,
      complete_training_ids: fields.complete_training_ids,
      calculated_at: context.calculatedAtMs === undefined ? null : toInstant(context.calculatedAtMs),
    };
    const completions = keyedItems({
      items: fields.last_completed,
      list: 'last_completed',
      keyField: 'id',
      key: wire.bigint,
      report,
      replaces: isMoreRecent,
    }).map(({ key, item }): RowOf<typeof trainingCompletions> => {
      const at = `last_completed[${item.index}]`;
      const completion = readFields(completionFields, item.record, { report, at });
      return {
        user_id: userId,
        training_id: key,
        completed_on: completion.completed_on,
        expires_on: completion.expires_on,
        starts_expiring_on: completion.starts_expiring_on,
        is_required: completion.is_required,
      };
    });
    return { parent, children: [completions] };
  },
};
