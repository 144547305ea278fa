import {
  ACCOUNT,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  labelOf,
  localDay,
  personKey,
  personName,
} from './description.ts';

const training_employee_status = {
  comment: 'How each employee stands with the trainings (source: training-employee-status.list).',
  columns: {
    ...ACCOUNT,
    user_id: 'Employee: users.id. Source: m_user_id.',
    status:
      'incomplete, expiring, active or unassigned; others are kept as they come. Source: status; null when not sent.',
    percent_complete:
      'Completed share of the assigned trainings in percent, 0 to 100. Source: percent_complete; null when not sent.',
    incomplete_training_ids:
      'Assigned trainings that are not complete. Source: incomplete_training_ids; null when not sent.',
    complete_training_ids:
      'Assigned trainings that are complete. Source: complete_training_ids; null when not sent.',
    calculated_at:
      'When the service calculated the report that last changed this row. Source: last_updated (ms); null when not sent.',
    _valid_from: 'Since when the present state holds; see training_employee_status_history.',
    ...BOOKKEEPING,
  },
};

const training_completions = {
  comment:
    'The last completion of each training by each employee, also of trainings that are not required (source: training-employee-status.list, last_completed).',
  columns: {
    ...ACCOUNT,
    user_id: 'Employee: users.id.',
    training_id: 'Training. Source: id.',
    completed_on: 'Day of the last completion. Source: date_number (YYYYMMDD); null when not sent.',
    expires_on: 'Day on which it expires. Source: expiresOn (YYYYMMDD); null when it does not expire.',
    starts_expiring_on:
      'Day from which it counts as expiring. Source: startsExpiringOn (YYYYMMDD); null when it does not expire.',
    is_required: 'Whether the training is required of the employee. Source: is_required; null when not told.',
    _valid_from: 'Since when the present state holds; see training_completion_history.',
  },
};

const user_name = personName('the employee');

const training_label = labelOf('the training');
const user_key = personKey('The employee', 'user_id');
const calculated_on = localDay('calculated_at');

const SINCE =
  'the last_updated of the report that first showed it, but no later than it was seen; never before the end of the state before.';
const completions = historyOf(training_completions, {
  what: 'completions of trainings; a state ends when the completion changes or disappears, or its employee does',
  since: SINCE,
  shown: { user_name, training_label, user_key },
});
const history = historyOf(training_employee_status, {
  what: 'employees’ training status (all its columns but calculated_at, which shows the last report that changed the row)',
  since: SINCE,
  shown: { calculated_on, user_key, user_name },
});

export const TRAINING: Descriptions = {
  training_employee_status,
  training_completions,
  training_employee_status_states: history.states,
  training_employee_status_history: history.history,
  training_completion_states: completions.states,
  training_completion_history: completions.history,
  training_assignments: {
    comment: 'One row for each training that is assigned to each live employee.',
    columns: {
      ...ACCOUNT,
      ...columnsOf(training_employee_status, 'user_id'),
      training_id: 'Training. Source: element of complete_training_ids or incomplete_training_ids.',
      is_complete: 'True when it comes from complete_training_ids.',
      training_label,
      user_key,
      user_name,
    },
  },
  training_compliance: {
    comment: 'Live employees with what their training status amounts to.',
    columns: {
      ...columnsOf(
        training_employee_status,
        'account_id',
        'user_id',
        'status',
        'percent_complete',
        'calculated_at',
      ),
      user_name,
      is_compliant:
        'True for active and expiring, false for incomplete, null for unassigned and statuses that are not specified.',
      complete_count: 'How many assigned trainings are complete.',
      incomplete_count: 'How many assigned trainings are not complete.',
      next_expires_on:
        'The next day, today included (reporting time zone), on which a completion expires, of those not known as not required; null when none does.',
      calculated_on,
      user_key,
    },
  },
  training_expiry: {
    comment: 'Completions that expire, of live employees.',
    columns: {
      ...columnsOf(
        training_completions,
        ...Object.keys(training_completions.columns).filter((column) => column !== '_valid_from'),
      ),
      user_name,
      days_until_expiry:
        'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past.',
      expiry_status:
        'expired (its day is past), expiring (from starts_expiring_on on) or active, as of today (reporting time zone).',
      training_label,
      user_key,
    },
  },
  training_matrix: {
    comment:
      'Live employees and trainings, one row for each training that an employee is assigned or has ever completed.',
    columns: {
      ...ACCOUNT,
      ...columnsOf(training_completions, 'user_id', 'expires_on'),
      training_id: 'Training.',
      state:
        'expired (the last completion has expired), missing (assigned and not complete), expiring (from starts_expiring_on on) or complete, as of today (reporting time zone).',
      is_required:
        'Whether it is required of the employee: as the completion says, else true for assigned trainings, else null.',
      days_until_expiry:
        'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past; null when it does not expire or was never completed.',
      is_assigned: 'Whether the training report lists it as complete or incomplete for the employee.',
      completed_on: 'Day of the last completion; null when none is told.',
      user_name,
      training_label,
      user_key,
    },
  },
  training_status_daily: {
    comment:
      'How many employees were in each status at the end of each day (reporting time zone; today: now), from the first day of which a state is known.',
    columns: {
      ...ACCOUNT,
      date: 'The day, in the reporting time zone.',
      status: 'A status of training_employee_status; unknown where the source did not say.',
      employees: 'How many employees; 0 where there were none.',
      days_ago: DAYS_AGO,
    },
  },
};
