import {
  ACCOUNT,
  allBut,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  labelOf,
  linkTo,
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
  'last_updated of the first report that contained it, but not later than its first read and never before the end of the previous state.';
type Table = 'training_employee_status' | 'training_completions';

/** @param own The columns that the stream declares. */
export function describeTraining(own: Readonly<Record<Table, Meanings>>): Descriptions {
  const training_employee_status = {
    comment: 'Training status of each employee (source: training-employee-status.list).',
    columns: {
      ...ACCOUNT,
      ...own.training_employee_status,
      _valid_from: 'Start of the present state; see training_employee_status_history.',
      ...BOOKKEEPING,
    },
  };
  const training_completions = {
    comment:
      'The last completion of each training by each employee, including trainings that are not required (source: training-employee-status.list, last_completed).',
    columns: {
      ...ACCOUNT,
      ...own.training_completions,
      _valid_from: 'Start of the present state; see training_completion_history.',
    },
  };
  const completions = historyOf(training_completions, {
    what: 'completions of trainings; a state ends when the completion changes, or when the completion or its employee disappears',
    since: SINCE,
    shown: { user_name, training_label, user_key },
  });
  const history = historyOf(training_employee_status, {
    what: 'the training status of employees (all its columns except calculated_at, which shows the last report that changed the row)',
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
      comment: 'Live employees with a summary of their training status.',
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
          'True for active and expiring, false for incomplete, null for unassigned and for statuses that the specification does not list.',
        complete_count: 'Number of assigned trainings that are complete.',
        incomplete_count: 'Number of assigned trainings that are not complete.',
        next_expires_on:
          'The next day, today included (reporting time zone), on which a completion expires. Completions of trainings that are known not to be required are left out. null when no completion expires.',
        calculated_on,
        user_key,
        record_url: linkTo('the person', 'EMPLOYEE'),
      },
    },
    training_expiry: {
      comment: 'Completions of live employees that have an expiry day.',
      columns: {
        ...allBut(training_completions),
        user_name,
        days_until_expiry:
          'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past.',
        expiry_status:
          'Status as of today (reporting time zone): expired (the expiry day is past), expiring (from starts_expiring_on on) or active.',
        training_label,
        user_key,
      },
    },
    training_matrix: {
      comment:
        'One row for each live employee and each training that is assigned to the employee or was ever completed.',
      columns: {
        ...ACCOUNT,
        ...columnsOf(training_completions, 'user_id', 'expires_on'),
        training_id: 'Training.',
        state:
          'State as of today (reporting time zone): expired (the last completion has expired), missing (assigned and not complete), expiring (from starts_expiring_on on) or complete.',
        is_required:
          'Whether the employee needs the training: the value of the completion if it has one, otherwise true for assigned trainings and null for others.',
        days_until_expiry:
          'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past; null when the completion does not expire, or the training was never completed.',
        is_assigned: 'Whether the training report lists it as complete or incomplete for the employee.',
        completed_on: 'Day of the last completion; null when the service sends none.',
        user_name,
        training_label,
        user_key,
      },
    },
    training_status_daily: {
      comment:
        'Number of employees in each status at the end of each day (reporting time zone; today: now), from the first day with a known state.',
      columns: {
        ...ACCOUNT,
        date: 'The day, in the reporting time zone.',
        status: 'A status of training_employee_status; unknown where the source sent none.',
        employees: 'Number of employees; 0 when no employee had the status.',
        days_ago: DAYS_AGO,
      },
    },
  };
}
