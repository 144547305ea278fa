/** Training status of each employee and the completions with their times (specification: training-employee-status.list). */
import { index } from 'drizzle-orm/pg-core';
import { toIso } from '../../shared/time.ts';
import { describeTraining } from '../../dictionary/training.ts';
import { bookkeeping, instant, safetyTable, statePeriod, stateStart, idText } from './columns.ts';
import { as, column, field, itemsOf, meaningsOf, childOf, tableColumns } from './fields.ts';
import type { RowOf, StreamDefinition } from './stream.ts';
import { addColumns, fieldReader, itemsReader } from './read-fields.ts';

const status = as.oneOf('incomplete', 'expiring', 'active', 'unassigned');
const statusFields = {
  user_id: field('m_user_id', as.userKey, 'Employee: users.id.'),
  status: field('status', status, 'incomplete, expiring, active or unassigned; others as they come.'),
  percent_complete: field(
    'percent_complete',
    as.numeric,
    'Percent of the assigned trainings that are complete.',
  ),
  incomplete_training_ids: field('incomplete_training_ids', as.bigints, 'Assigned trainings, not complete.'),
  complete_training_ids: field('complete_training_ids', as.bigints, 'Assigned trainings that are complete.'),
};

const statusColumns = {
  ...statusFields,
  calculated_at: column(
    instant,
    'When the service calculated the list that last changed this row. Source: last_updated (ms); null when not sent.',
  ),
};

export const trainingEmployeeStatus = safetyTable('training_employee_status', ['user_id'], {
  ...tableColumns(statusColumns),
  ...stateStart(),
  ...bookkeeping(),
});

/** Superseded states; with the present ones they are `training_employee_status_history`. */
export const trainingEmployeeStatusStates = safetyTable(
  'training_employee_status_states',
  ['user_id', 'valid_from'],
  { ...tableColumns(statusColumns), ...statePeriod() },
);

const DOES_NOT_EXPIRE = 'null when it does not expire.';
const completionFields = {
  training_id: field('id', as.bigintKey, 'Training.'),
  completed_on: field('date_number', as.date, 'Day of the last completion.'),
  expires_on: field('expiresOn', as.date, 'Day on which it expires.', DOES_NOT_EXPIRE),
  starts_expiring_on: field('startsExpiringOn', as.date, 'When it begins to expire.', DOES_NOT_EXPIRE),
  is_required: field('is_required', as.boolean, 'Whether the training is required of the employee.'),
};

const completionColumns = {
  user_id: column(() => idText().notNull(), 'Employee: users.id.'),
  ...completionFields,
};

export const trainingCompletions = safetyTable(
  'training_completions',
  ['user_id', 'training_id'],
  { ...tableColumns(completionColumns), ...stateStart() },
  (t) => [
    childOf(trainingEmployeeStatus, [t.account_id, t.user_id], 'training_completions_status_fk'),
    index('training_completions_expires_idx').on(t.expires_on),
  ],
);

/** States that were superseded or ended; with the present ones they are `training_completion_history`. */
export const trainingCompletionStates = safetyTable(
  'training_completion_states',
  ['user_id', 'training_id', 'valid_from'],
  { ...tableColumns(completionColumns), ...statePeriod() },
);

const recordFields = { ...statusFields, last_completed: itemsOf(trainingCompletions, completionFields) };

const readRecord = fieldReader(recordFields);
const readCompletions = itemsReader('last_completed', completionFields.training_id, completionFields);

export const trainingEmployeeStatusStream: StreamDefinition = {
  name: 'training-employee-status',
  contents: 'training',
  descriptions: describeTraining({
    training_employee_status: meaningsOf(statusColumns),
    training_completions: meaningsOf(completionColumns),
  }),
  method: 'training-employee-status.list',
  responseKey: 'employees',
  readMode: { kind: 'cached_list', pageSize: 1000 },
  keyField: 'm_user_id',
  parent: trainingEmployeeStatus,
  fields: recordFields,
  children: [trainingCompletions],
  histories: [
    { of: trainingEmployeeStatus, states: trainingEmployeeStatusStates, since: 'calculated_at' },
    { of: trainingCompletions, states: trainingCompletionStates, since: 'calculated_at' },
  ],
  normalizerVersion: 1,
  toRows(record, context, addIssue) {
    const fields = readRecord(record, addIssue);
    const parent: RowOf<typeof trainingEmployeeStatus> = addColumns(fields, {
      calculated_at: toIso(context.calculatedAtMs ?? null),
    });
    const completions = readCompletions(fields.last_completed, addIssue).map(
      ({ fields: completion }): RowOf<typeof trainingCompletions> =>
        addColumns(completion, { user_id: parent.user_id }),
    );
    return { parent, children: [completions] };
  },
};
