import { type Descriptions, historyOf, type Meanings, relation } from './description.ts';

const SINCE =
  'last_updated of the first list that contained it, but not later than its first read and never before the end of the previous state.';
type TrainingTable = 'training_employee_status' | 'training_completions';

/** @param own The columns that the stream declares. */
export function describeTraining(own: Readonly<Record<TrainingTable, Meanings>>): Descriptions {
  const training_employee_status = relation(
    'Training status of each employee (source: training-employee-status.list).',
    own.training_employee_status,
  );
  const training_completions = relation(
    'The last completion of each training by each employee, including trainings that are not required (source: training-employee-status.list, last_completed).',
    own.training_completions,
  );
  return {
    training_employee_status,
    training_completions,
    ...historyOf('training_employee_status', training_employee_status, {
      what: 'the training status of employees (all its columns except calculated_at, which shows the last list that changed the row)',
      since: SINCE,
    }),
    ...historyOf('training_completion', training_completions, {
      what: 'completions of trainings; a state ends when the completion changes, or when the completion or its employee disappears',
      since: SINCE,
    }),
    training_compliance: relation(
      'Live employees with a summary of their training status.',
      {
        is_compliant:
          'True for active and expiring, false for incomplete, null for unassigned and for statuses that the specification does not list.',
        complete_count: 'Number of assigned trainings that are complete.',
        incomplete_count: 'Number of assigned trainings that are not complete.',
        next_expires_on:
          'The next day, today included (reporting time zone), on which a completion expires. Completions of trainings that are known not to be required are left out. null when no completion expires.',
        missing_trainings: 'Required trainings that are missing or expired, separated by commas; null: none.',
        field_office: 'Name of the first field office of the employee.',
        line_of_business: 'Name of the first line of business of the employee.',
        job_title: 'Name of the job title.',
      },
      training_employee_status,
    ),
    training_compliance_by_area: relation(
      'How many people of each area are compliant. A person in several areas counts in each; leavers and people without required trainings are left out.',
      {
        area_kind: 'field_office, line_of_business or job_title.',
        area: 'Name of the area.',
        people: 'Number of people.',
        compliant: 'Number of these that are compliant.',
        share: 'compliant / people, 0 to 1.',
      },
    ),
    training_due: relation(
      'Required trainings that live employees have to do, one row each: missing, expired or expiring; and those whose yearly window is open and that were not done since it opened.',
      {
        reason: 'missing, expired, expiring or window.',
        due_on: 'Day of the expiry (expired, expiring), else last day of the open window; null: none.',
      },
      training_completions,
    ),
    training_matrix: relation(
      'One row for each live employee and each training that is assigned to the employee or was ever completed.',
      {
        training_id: 'Training.',
        state:
          'State as of today (reporting time zone): expired (the last completion has expired), missing (assigned and not complete), expiring (from starts_expiring_on on) or complete.',
        is_required:
          'Whether the employee needs the training: the value of the completion if it has one, otherwise true for assigned trainings and null for others.',
        days_until_expiry:
          'Days from today (reporting time zone) to the day of expiry: 0 today, negative when it is past; null when the completion does not expire, or the training was never completed.',
        is_assigned: 'Whether the training list shows it as complete or incomplete for the employee.',
        completed_on: 'Day of the last completion; null when the service sends none.',
        is_complete: 'False when the training list shows it as incomplete for the employee.',
      },
      training_completions,
    ),
    training_status_daily: relation(
      'Number of employees in each status on each day (reporting time zone), as of the last run of that day, or at its end where no run counted it (is_counted), from the first day with a known state to today. Days after the last run have its numbers.',
      {
        status: 'A status of training_employee_status; unknown where the source sent none.',
        employees: 'Number of employees; 0 when no employee had the status.',
      },
    ),
  };
}
