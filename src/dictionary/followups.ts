import {
  ACCOUNT,
  allBut,
  BOOKKEEPING,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  keyTo,
  labelOf,
  localDay,
  type Meanings,
  personKey,
  personName,
} from './description.ts';

/** What every view of whole follow-ups has beside their columns. */
const shown = {
  form_label: labelOf('the form'),
  created_on: localDay('created_at'),
  updated_on: localDay('updated_at'),
  resolved_on: localDay('resolved_at'),
  followup_key: keyTo('The follow-up', 'id'),
};

/** Of the people that a follow-up names. */
const people = {
  observer_name: personName('who raised it'),
  assigner_name: personName('who assigned it'),
  assignee_name: personName('whose task it is'),
  completer_name: personName('who completed it'),
  observer_key: personKey('Who raised it', 'observer_id'),
  assigner_key: personKey('Who assigned it', 'assigner_id'),
  assignee_key: personKey('Whose task it is', 'assignee_id'),
  completer_key: personKey('Who completed it', 'completer_id'),
};

const date = 'The day, in the reporting time zone.';
const status =
  'open (pending and not overdue), overdue (pending after its due day), closed, or unknown (the source did not say).';

/** Figures that the table keeps under a name with `_` for followup_overview. */
const shownOf = (kept: Meanings): Meanings =>
  Object.fromEntries(Object.entries(kept).map(([name, meaning]) => [name.slice(1), meaning]));
const keptOf = (kept: Meanings): Meanings =>
  Object.fromEntries(
    Object.entries(kept).map(([name, meaning]) => [name, `For followup_overview: ${meaning}`]),
  );

type Group =
  | 'followups'
  | 'figures'
  | 'differences'
  | 'changes'
  | 'firstDue'
  | 'followup_messages'
  | 'followup_attachments';

/** @param own The columns that the stream declares; those of follow-ups in groups. */
export function describeFollowups(own: Readonly<Record<Group, Meanings>>): Descriptions {
  const followups = {
    comment: 'Follow-up tasks that were raised in form responses (source: followups.list).',
    columns: {
      ...ACCOUNT,
      ...own.followups,
      _valid_from: 'Since when the present state holds; see followup_history.',
      ...BOOKKEEPING,
      ...keptOf(own.figures),
      ...own.differences,
      ...keptOf(own.changes),
      ...own.firstDue,
    },
  };
  const history = historyOf(followups, {
    what: 'follow-ups (all their columns but updated_at, which moves with every message and shows its last value in the state)',
    since:
      'the updated_on with which it came, but no later than it was seen; never before the end of the state before.',
    shown: { ...shown, ...people },
  });

  const followup_overview = {
    comment: 'Live follow-ups with names, due and age figures and what their messages amount to.',
    columns: {
      ...allBut(followups),
      resolved_at:
        'When it was completed. Source: resolved_on (ms); null while it is open, also where the service leaves it on one that was opened again.',
      is_overdue:
        'True when it is open and its due day is before today (reporting time zone); false without a due date.',
      age_days:
        'Calendar days from creation to today (reporting time zone) of an open follow-up, 0 when the creation is dated later; null when it is not open.',
      days_to_resolve:
        'Calendar days from creation to completion (reporting time zone), 0 when the completion is dated before the creation; null while it is open.',
      ...shownOf(own.figures),
      ...shown,
      last_message_on: localDay('last_message_at'),
      days_until_due:
        'Days from today (reporting time zone) to the due day of an open one: 0 today, negative when it is overdue; null when it is not open or has no due day.',
      days_overdue: 'How many days it is overdue; null when it is not.',
      age_bucket:
        'age_days of an open one as 00-07, 08-30, 31-60, 61-90 or 91+, which sort as texts; null when it is not open.',
      closed_in_time:
        'Of a closed one, whether its day of completion is no later than its due day; null without one, and while it is open. The due day may have been moved: due_changes.',
      first_response_on: localDay('first_response_at'),
      ...shownOf(own.changes),
      ...people,
      first_due_on:
        'Its original due day: that of its first state, as far as syncs saw it; due_on where that never moved. Null where it had none then.',
    },
  };

  return {
    followups,
    followup_messages: {
      comment: 'Messages of follow-ups, replaced with their follow-up (source: followups.list, messages).',
      columns: { ...ACCOUNT, ...own.followup_messages },
    },
    followup_attachments: {
      comment: 'Files of messages (source: followups.list, messages, attachments).',
      columns: { ...ACCOUNT, ...own.followup_attachments },
    },
    followup_states: { ...history.states, columns: { ...history.states.columns, ...own.differences } },
    followup_history: history.history,
    followup_overview,
    followup_events: {
      comment:
        'What happened to live follow-ups, one row each: raised, message, handed_on (a message that hands it to somebody else is two rows), due_moved, closed, reopened. The last three are known as far as syncs saw them; of one that was closed when first seen, the closing is.',
      columns: {
        ...ACCOUNT,
        followup_id: 'Follow-up: followups.id.',
        occurred_at:
          'When: created_at, sent_at, resolved_at (of the present closing as the source has it now), else when the source says that its state changed.',
        occurred_on: localDay('occurred_at'),
        event: 'raised, message, handed_on, due_moved, closed or reopened.',
        user_id: 'Who did it: users.id; null where the source does not tell.',
        from_value:
          'due_moved: the due day before, null for none. handed_on: to whom the message before had handed it, null for the first. Else null.',
        to_value:
          'due_moved: the due day from then on, null for none. handed_on: to whom it was handed. Else null.',
        user_name: personName('who did it'),
        followup_key: shown.followup_key,
        user_key: personKey('Who did it', 'user_id'),
      },
    },
    followup_daily: {
      comment:
        'How many follow-ups were in each status at the end of each day (reporting time zone; today: now), from the day on which the first one was raised, at the earliest 2000-01-01. The statuses exclude each other and add up to all; before the first state that was seen, a follow-up counts as open from its creation to its completion, or to the beginning of that state where it has none. Today shows the follow-ups as they are now.',
      columns: {
        ...ACCOUNT,
        date,
        status,
        followups: 'How many follow-ups; 0 where there were none (unknown then has no row).',
        days_ago: DAYS_AGO,
      },
    },
    followup_daily_by_assignee: {
      comment:
        'The same as followup_daily for each assignee: a day that is over stays with who had the task then. Without rows where there were none.',
      columns: {
        ...ACCOUNT,
        date,
        status,
        followups: 'How many follow-ups, at least 1.',
        assignee_id: 'Whose task they were at the end of that day: users.id; null: nobody’s.',
        assignee_name: personName('whose task they were'),
        days_ago: DAYS_AGO,
        assignee_key: personKey('Whose task they were', 'assignee_id'),
      },
    },
    followup_daily_by_form: {
      comment:
        'The same as followup_daily for each form in whose responses they were raised. Without rows where there were none.',
      columns: {
        ...ACCOUNT,
        date,
        status,
        followups: 'How many follow-ups, at least 1.',
        form_id: 'Form in whose response they were raised; null where the source did not say.',
        form_label: labelOf('the form'),
        days_ago: DAYS_AGO,
      },
    },
    followup_days: {
      comment:
        'For the views followup_daily…, which show it row by row: spans of days in which the same numbers of follow-ups were open, overdue and closed. A span may lie in the future, as it will be if nothing changes.',
      columns: {
        ...ACCOUNT,
        counted_by: 'all, assignee or form: for which of the three views.',
        id: 'Assignee or form; empty: none, or all.',
        from_on: 'First day.',
        to_on: 'The day after the last one; infinity: until something changes.',
        open: 'Open follow-ups that are not overdue.',
        overdue: 'Open follow-ups after their due day.',
        closed: 'Closed follow-ups.',
        unknown: 'Follow-ups of which the source does not say whether they are open.',
      },
    },
    counted_days: {
      comment: 'Up to which day the daily views of a stream are counted.',
      columns: {
        ...ACCOUNT,
        stream: 'followups, training-employee-status or equipments.',
        timezone:
          'Reporting time zone in which days begin and end; after a change of it the next run counts all days again.',
        counted_to: 'Newest counted day: that of the last successful run.',
        final_before:
          'Days before it count rows that were removed (RETENTION_DELETED_DAYS), so they stay as they are.',
        is_valid: 'false: rows were changed in place, so the next run counts all days again.',
      },
    },
  };
}
