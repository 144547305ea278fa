import {
  ACCOUNT,
  allBut,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  labelOf,
  localDay,
  type Meanings,
  personKey,
  personName,
} from './description.ts';

const user_name = personName('the employee');

const training_label = labelOf('the training');
const user_key = personKey('The employee', 'user_id');
const calculated_on = localDay('calculated_at');

const SINCE =
  'the last_updated of the report that first showed it, but no later than it was seen; never before the end of the state before.';
type Table = 'training_employee_status' | 'training_completions';

/** @param own The columns that the stream declares. */
export function describeTraining(own: Readonly<Record<Table, Meanings>>): Descriptions {
  const training_employee_status = {
    comment: 'Training status of each employee (source: training-employee-status.list).',
    columns: {
      ...ACCOUNT,
      ...own.training_employee_status,
      _valid_from: 'Since when the present state holds; see training_employee_status_history.',
      ...BOOKKEEPING,
    },
  };
  const training_completions = {
    comment:
      'The last completion of each training by each employee, also of trainings that are not required (source: training-employee-status.list, last_completed).',
    columns: {
      ...ACCOUNT,
      ...own.training_completions,
      _valid_from: 'Since when the present state holds; see training_completion_history.',
    },
  };
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

  return {
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
        ...allBut(training_completions),
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
}
