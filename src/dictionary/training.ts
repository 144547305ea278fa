import {
  allBut,
  BOOKKEEPING,
  columnsOf,
  DAY,
  type Descriptions,
  historyOf,
  labelMeaning,
  linkTo,
  localDays,
  type Meanings,
  person,
  relation,
} from './description.ts';

const training_label = labelMeaning('the training');
const employee = person('user', 'the employee', 'The employee');
const calculated = localDays('calculated');

const SINCE =
  'last_updated of the first list that contained it, but not later than its first read and never before the end of the previous state.';
type TrainingTable = 'training_employee_status' | 'training_completions';

/** @param own The columns that the stream declares. */
export function describeTraining(own: Readonly<Record<TrainingTable, Meanings>>): Descriptions {
  const training_employee_status = relation(
    'Training status of each employee (source: training-employee-status.list).',
    {
      ...own.training_employee_status,
      _valid_from: 'Start of the present state; see training_employee_status_history.',
      ...BOOKKEEPING,
    },
  );
  const training_completions = relation(
    'The last completion of each training by each employee, including trainings that are not required (source: training-employee-status.list, last_completed).',
    {
      ...own.training_completions,
      _valid_from: 'Start of the present state; see training_completion_history.',
    },
  );

  return {
    training_employee_status,
    training_completions,
    ...historyOf('training_employee_status', training_employee_status, {
      what: 'the training status of employees (all its columns except calculated_at, which shows the last list that changed the row)',
      since: SINCE,
      shown: { ...calculated, ...employee },
    }),
    ...historyOf('training_completion', training_completions, {
      what: 'completions of trainings; a state ends when the completion changes, or when the completion or its employee disappears',
      since: SINCE,
      shown: { ...employee, training_label },
    }),
    training_assignments: relation('One row for each training that is assigned to each live employee.', {
      ...columnsOf(training_employee_status, 'user_id'),
      training_id: 'Training. Source: element of complete_training_ids or incomplete_training_ids.',
      is_complete: 'True when it comes from complete_training_ids.',
      training_label,
      ...employee,
    }),
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
        ...employee,
        is_compliant:
          'True for active and expiring, false for incomplete, null for unassigned and for statuses that the specification does not list.',
        complete_count: 'Number of assigned trainings that are complete.',
        incomplete_count: 'Number of assigned trainings that are not complete.',
        next_expires_on:
          'The next day, today included (reporting time zone), on which a completion expires. Completions of trainings that are known not to be required are left out. null when no completion expires.',
        ...calculated,
        record_url: linkTo('the person', 'EMPLOYEE'),
      },
    },
    training_expiry: {
      comment: 'Completions of live employees that have an expiry day.',
      columns: {
        ...allBut(training_completions),
        ...employee,
        days_until_expiry:
          'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past.',
        expiry_status:
          'Status as of today (reporting time zone): expired (the expiry day is past), expiring (from starts_expiring_on on) or active.',
        training_label,
      },
    },
    training_matrix: relation(
      'One row for each live employee and each training that is assigned to the employee or was ever completed.',
      {
        ...columnsOf(training_completions, 'user_id', 'expires_on'),
        training_id: 'Training.',
        state:
          'State as of today (reporting time zone): expired (the last completion has expired), missing (assigned and not complete), expiring (from starts_expiring_on on) or complete.',
        is_required:
          'Whether the employee needs the training: the value of the completion if it has one, otherwise true for assigned trainings and null for others.',
        days_until_expiry:
          'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past; null when the completion does not expire, or the training was never completed.',
        is_assigned: 'Whether the training list shows it as complete or incomplete for the employee.',
        completed_on: 'Day of the last completion; null when the service sends none.',
        ...employee,
        training_label,
      },
    ),
    training_status_daily: relation(
      'Number of employees in each status at the end of each day (reporting time zone; today: now), from the first day with a known state.',
      {
        ...DAY,
        status: 'A status of training_employee_status; unknown where the source sent none.',
        employees: 'Number of employees; 0 when no employee had the status.',
      },
    ),
  };
}
