import {
  ACCOUNT,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  keyTo,
  labelOf,
  localDay,
  personKey,
  personName,
} from './description.ts';

const user = (what: string, field: string) => `${what}: users.id. Source: ${field}; null when not sent.`;

/** What its messages amount to. */
const figures = {
  message_count: 'How many messages it has; 0 for none.',
  reassignment_count: 'How many of its messages handed it to somebody else; 0 for none.',
  last_message_at: 'When its latest message was sent; null without messages.',
  first_response_at: 'When somebody else than who raised it sent the first message; null when nobody did.',
};

const changes = {
  due_changes: 'How often its due day was changed, as far as syncs saw it; 0 for never.',
  reopen_count: 'How often it was opened again after it was closed, as far as syncs saw it; 0 for never.',
};

/** How a state differs from the one before it. */
const differences = {
  _was_open:
    'For followup_events: whether the state before was open; null for the first, or where the source did not say.',
  _due_moved: 'For followup_events: the state before had another due day.',
  _due_before: 'For followup_events: the due day of the state before; null for none, and for the first.',
};

const followups = {
  comment: 'Follow-up tasks that were raised in form responses (source: followups.list).',
  columns: {
    ...ACCOUNT,
    id: 'Identifier of the follow-up. Source: id.',
    form_id: 'Form in whose response it was raised. Source: form_id; null when not sent.',
    response_id: 'Form response in which it was raised. Source: response_id; null when not sent.',
    is_open: 'True while pending, false when completed. Source: open; null when not sent.',
    created_at: 'When it was raised. Source: created_on (ms); null when not sent.',
    updated_at:
      'When the source last changed it; every message moves it. Source: updated_on (ms); null when not sent.',
    observer_id: user('Who raised it', 'm_observer_id'),
    assigner_id: user('Who assigned it', 'm_assigner_id'),
    assignee_id: user('Whose task it is now', 'm_assignee_id'),
    due_on: 'Day on which it is due. Source: due (YYYYMMDD); null when it has no due date.',
    resolved_at:
      'When it was completed. Source: resolved_on (ms); null when not sent. The service may leave it on one that was opened again.',
    completer_id:
      'Who completed it: users.id. Source: m_completer_id; null when not sent. The service may leave it on one that was opened again.',
    _valid_from: 'Since when the present state holds; see followup_history.',
    ...BOOKKEEPING,
    ...Object.fromEntries(
      Object.entries(figures).map(([name, meaning]) => [`_${name}`, `For followup_overview: ${meaning}`]),
    ),
    ...differences,
    ...Object.fromEntries(
      Object.entries(changes).map(([name, meaning]) => [`_${name}`, `For followup_overview: ${meaning}`]),
    ),
    _first_due:
      'For followup_overview: the due day of its first state; null for none, and while the first state is the present one.',
  },
};

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

const history = historyOf(followups, {
  what: 'follow-ups (all their columns but updated_at, which moves with every message and shows its last value in the state)',
  since:
    'the updated_on with which it came, but no later than it was seen; never before the end of the state before.',
  shown: { ...shown, ...people },
});

const date = 'The day, in the reporting time zone.';
const status =
  'open (pending and not overdue), overdue (pending after its due day), closed, or unknown (the source did not say).';

const followup_overview = {
  comment: 'Live follow-ups with names, due and age figures and what their messages amount to.',
  columns: {
    ...columnsOf(followups, ...Object.keys(followups.columns).filter((column) => !column.startsWith('_'))),
    resolved_at:
      'When it was completed. Source: resolved_on (ms); null while it is open, also where the service leaves it on one that was opened again.',
    is_overdue:
      'True when it is open and its due day is before today (reporting time zone); false without a due date.',
    age_days:
      'Calendar days from creation to today (reporting time zone) of an open follow-up, 0 when the creation is dated later; null when it is not open.',
    days_to_resolve:
      'Calendar days from creation to completion (reporting time zone), 0 when the completion is dated before the creation; null while it is open.',
    ...figures,
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
    ...changes,
    ...people,
    first_due_on:
      'Its original due day: that of its first state, as far as syncs saw it; due_on where that never moved. Null where it had none then.',
  },
};

export const FOLLOWUPS: Descriptions = {
  followups,
  followup_messages: {
    comment: 'Messages of follow-ups, replaced with their follow-up (source: followups.list, messages).',
    columns: {
      ...ACCOUNT,
      followup_id: 'Follow-up: followups.id.',
      id: 'Identifier of the message within its follow-up. Source: id.',
      position: 'Place in the conversation, 1 = oldest.',
      sent_at: 'When it was sent. Source: date (ms); null when not sent along.',
      user_id: user('Author', 'm_user_id'),
      note: 'The text. Source: note; null when not sent.',
      reassignee_id:
        'To whom the message hands the follow-up: users.id. Source: m_reassignee_id; null when it hands over nothing.',
      signature: 'As sent. Source: signature; null when there is none (nothing else is specified).',
      notify: 'Whether the message notified. Source: notify; null when not sent.',
      _handed_before:
        'For followup_events: to whom the message before had handed the follow-up; null where this one does not hand it on, or is the first that does.',
    },
  },
  followup_attachments: {
    comment: 'Files of messages (source: followups.list, messages, attachments).',
    columns: {
      ...ACCOUNT,
      followup_id: 'Follow-up: followups.id.',
      message_id: 'Message: followup_messages.id.',
      position: 'Place among the files of the message, 1 = first.',
      key: 'Storage key of the file. Source: key; null when not sent.',
      caption: 'Caption. Source: caption; null when not sent.',
    },
  },
  followup_states: { ...history.states, columns: { ...history.states.columns, ...differences } },
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
