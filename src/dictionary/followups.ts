import {
  allBut,
  BOOKKEEPING,
  DAY,
  type Descriptions,
  historyOf,
  keyTo,
  labelMeaning,
  linkTo,
  localDays,
  type Meanings,
  person,
  relation,
} from './description.ts';

/** The columns that every view of complete follow-ups has in addition. */
const shown = {
  form_label: labelMeaning('the form'),
  ...localDays('created', 'updated', 'resolved'),
  followup_key: keyTo('The follow-up', 'id'),
};

const assignee = person('assignee', 'the assignee', 'Assignee');
/** Columns for the people that a follow-up names. */
const people = {
  ...person('observer', 'the observer', 'Observer'),
  ...person('assigner', 'the assigner', 'Assigner'),
  ...assignee,
  ...person('completer', 'the completer', 'Completer'),
};

const status =
  'open (pending and not overdue), overdue (pending after its due day), closed, or unknown (the source sent no value).';

/** Columns for followup_overview, which the table keeps under names that begin with `_`. */
const shownOf = (kept: Meanings): Meanings =>
  Object.fromEntries(Object.entries(kept).map(([name, meaning]) => [name.slice(1), meaning]));
const keptOf = (kept: Meanings): Meanings =>
  Object.fromEntries(
    Object.entries(kept).map(([name, meaning]) => [name, `For followup_overview: ${meaning}`]),
  );

type Group =
  | 'followups'
  | 'messageSummary'
  | 'differences'
  | 'changes'
  | 'firstDue'
  | 'followup_messages'
  | 'followup_attachments';

/** @param own The columns that the stream declares; those of follow-ups in groups. */
export function describeFollowups(own: Readonly<Record<Group, Meanings>>): Descriptions {
  const followups = relation('Follow-up tasks that were raised in form responses (source: followups.list).', {
    ...own.followups,
    _valid_from: 'Start of the present state; see followup_history.',
    ...BOOKKEEPING,
    ...keptOf(own.messageSummary),
    ...own.differences,
    ...keptOf(own.changes),
    ...own.firstDue,
  });
  const followup_overview = {
    comment: 'Live follow-ups with names, figures about due days and age, and a summary of their messages.',
    columns: {
      ...allBut(followups),
      resolved_at:
        'Time of the completion. Source: resolved_on (ms); null while the follow-up is open, even if the service still sends the time after a reopening.',
      is_overdue:
        'True when the follow-up is open and its due day is before today (reporting time zone); false without a due date.',
      age_days:
        'Calendar days from creation to today (reporting time zone) of an open follow-up, 0 when the creation is dated later; null when it is not open.',
      days_to_resolve:
        'Calendar days from creation to completion (reporting time zone), 0 when the completion is dated before the creation; null while it is open.',
      ...shownOf(own.messageSummary),
      ...shown,
      ...localDays('last_message'),
      days_until_due:
        'Days from today (reporting time zone) to the due day of an open follow-up: 0 today, negative when it is overdue; null when it is not open or has no due day.',
      days_overdue: 'Number of days since the due day; null when the follow-up is not overdue.',
      age_bucket:
        'age_days of an open follow-up as 00-07, 08-30, 31-60, 61-90 or 91+, which sort as texts; null when it is not open.',
      closed_in_time:
        'Whether a closed follow-up was completed on its due day or before; null without a due day, and while it is open. The due day may have changed: see due_changes.',
      ...localDays('first_response'),
      ...shownOf(own.changes),
      ...people,
      first_due_on:
        'Original due day: the due day of the first state that a sync read; equal to due_on if the due day never changed. Null when the first state had none.',
      record_url: linkTo('the follow-up', 'FOLLOWUP'),
    },
  };

  return {
    followups,
    followup_messages: relation(
      'Messages of follow-ups, replaced with their follow-up (source: followups.list, messages).',
      { ...own.followup_messages },
    ),
    followup_attachments: relation('Files of messages (source: followups.list, messages, attachments).', {
      ...own.followup_attachments,
    }),
    ...historyOf('followup', followups, {
      what: 'follow-ups (all their columns except updated_at, which changes with every message; it shows its last value in the state)',
      since:
        'updated_on of the record, but not later than its first read and never before the end of the previous state.',
      shown: { ...shown, ...people },
      kept: own.differences,
    }),
    followup_overview,
    followup_events: relation(
      'Events of live follow-ups, one row each: raised, message, handed_on (a message that hands the follow-up to another person is two rows), due_moved, closed, reopened. The last three are known only if a sync read the states before and after. The closing is also known for a follow-up that was already closed at its first read.',
      {
        followup_id: 'Follow-up: followups.id.',
        occurred_at:
          'Time of the event. raised: created_at; message and handed_on: sent_at; closed: resolved_at (the present closing has the present value of the source); otherwise the time that the source sends for the change of state.',
        ...localDays('occurred'),
        event: 'raised, message, handed_on, due_moved, closed or reopened.',
        user_id: 'Person that caused the event: users.id; null where the source does not send it.',
        from_value:
          'due_moved: previous due day, null for none. handed_on: person that the previous message had handed it to, null for the first. Other events: null.',
        to_value:
          'due_moved: new due day, null for none. handed_on: person that the message hands it to. Other events: null.',
        ...person('user', 'the person that caused the event', 'Person that caused the event'),
        followup_key: shown.followup_key,
      },
    ),
    followup_daily: relation(
      'Number of follow-ups in each status at the end of each day (reporting time zone; today: now), from the day of the first follow-up, at the earliest 2000-01-01. The statuses exclude each other, and their sum is the number of all follow-ups. Before its first observed state, a follow-up counts as open from its creation to its completion, or to the start of that state when it has no completion. Today shows the follow-ups as they are now.',
      {
        ...DAY,
        status,
        followups: 'Number of follow-ups; 0 when no follow-up had the status (unknown then has no row).',
      },
    ),
    followup_daily_by_assignee: relation(
      'The numbers of followup_daily for each assignee. A past day counts for the assignee of that day. Numbers of 0 have no row.',
      {
        ...DAY,
        status,
        followups: 'Number of follow-ups, at least 1.',
        assignee_id: 'Assignee at the end of that day: users.id; null: not assigned.',
        ...assignee,
      },
    ),
    followup_daily_by_form: relation(
      'The numbers of followup_daily for each form, by the responses that raised the follow-ups. Numbers of 0 have no row.',
      {
        ...DAY,
        status,
        followups: 'Number of follow-ups, at least 1.',
        form_id: 'Form of the responses that raised them; null where the source sent none.',
        form_label: labelMeaning('the form'),
      },
    ),
    followup_days: relation(
      'Periods of days with equal numbers of open, overdue and closed follow-ups, for the views followup_daily…, which show one row per day. A row holds the periods that begin in one year. Periods in the future show the counts that result if nothing changes.',
      {
        counted_by: 'View that uses the periods: all, assignee or form.',
        id: 'Assignee or form; empty: none, or all follow-ups.',
        from_on: 'First day of the first period.',
        to_on: 'Day after the last period; infinity: the last period has no end.',
        days: 'First day of each period. A period ends before the next one begins.',
        open: 'Open follow-ups that are not overdue, per period.',
        overdue: 'Open follow-ups after their due day, per period.',
        closed: 'Closed follow-ups, per period.',
        unknown: 'Follow-ups without a value for open from the source, per period.',
      },
    ),
    counted_days: relation('Last counted day of the daily views, per stream.', {
      stream: 'followups, training-employee-status or equipments.',
      timezone: 'Reporting time zone of the days; after a change the next run counts all days again.',
      counted_to: 'Newest counted day, which is the day of the last successful run.',
      final_before:
        'Days before this day count rows that were removed (RETENTION_DELETED_DAYS), so they stay as they are.',
      is_valid: 'False when rows were changed in place, so the next run counts all days again.',
    }),
  };
}
