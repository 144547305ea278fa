import { type Descriptions, historyOf, type Meanings, relation } from './description.ts';

const DAILY = {
  status: 'open (pending, not overdue), overdue (pending after its due day), closed, unknown (none sent).',
  followups: 'Number of follow-ups.',
};
const FOLLOWUP = { followup_id: 'Follow-up: followups.id.' };
const COUNTED_STREAM = { stream: 'followups, training-employee-status or equipments.' };

type Group = 'followups' | 'stateless' | 'messageSummary' | 'followup_messages' | 'followup_attachments';

/** @param own The columns that the stream declares; those of follow-ups in groups. */
export function describeFollowups(own: Readonly<Record<Group, Meanings>>): Descriptions {
  const followups = relation('Follow-up tasks that were raised in form responses (source: followups.list).', {
    ...own.followups,
    ...own.stateless,
    ...own.messageSummary,
  });
  return {
    followups,
    followup_messages: relation(
      'Messages of follow-ups, replaced with their follow-up (source: followups.list, messages).',
      own.followup_messages,
    ),
    followup_attachments: relation(
      'Files of messages (source: followups.list, messages, attachments).',
      own.followup_attachments,
    ),
    ...historyOf('followup', relation('', own.followups), {
      what: 'follow-ups (their columns except updated_at, which changes with every message; it shows its last value in the state)',
      since: 'updated_on of the record, not after its first read, not before the end of the previous state.',
    }),
    followup_overview: relation(
      'Live follow-ups with names, figures about due days and age, and a summary of their messages.',
      {
        resolved_at:
          'Time of the completion. Source: resolved_on (ms); null while the follow-up is open, even if the service still sends the time after a reopening.',
        is_overdue: 'Open, and its due day is before today (reporting time zone); false without a due date.',
        age_days:
          'Calendar days from creation to today (reporting time zone) of an open follow-up, 0 when the creation is dated later; null when it is not open.',
        days_to_resolve:
          'Calendar days from creation to completion (reporting time zone), 0 when the completion is dated before the creation; null while it is open.',
        days_until_due:
          'Days from today (reporting time zone) to the due day of an open follow-up: 0 today, negative when it is overdue; null when it is not open or has no due day.',
        days_overdue: 'Number of days since the due day; null when the follow-up is not overdue.',
        age_bucket: 'age_days as 00-07, 08-30, 31-60, 61-90 or 91+ (these sort as texts); null: not open.',
        closed_in_time:
          'Whether a closed follow-up was completed on its due day or before; null without a due day, and while it is open. The due day may have changed: see due_changes.',
        due_changes: 'Number of changes of its due day, as far as syncs read them; 0 for never.',
        reopen_count: 'Number of reopenings after it was closed, as far as syncs read them; 0 for never.',
        first_due_on:
          'Original due day: the due day of the first state that a sync read; equal to due_on if the due day never changed. Null when the first state had none.',
        first_note: 'The first message: what was found.',
        last_note: 'The last message.',
        responsible_name: 'Name of the assignee, else of the assigner; without a name, the id.',
        field_offices: 'Names of the field offices of the assignee, separated by commas.',
        supervisor_name: 'Name of the supervisor of the assignee.',
      },
      followups,
    ),
    followup_events: relation(
      'Events of live follow-ups, one row each: raised, message, handed_on (a message that hands the follow-up to another person is two rows), due_moved, closed, reopened. The last three are known only if a sync read the states before and after. The closing is also known for a follow-up that was already closed at its first read.',
      {
        ...FOLLOWUP,
        occurred_at:
          'Time of the event. raised: created_at; message and handed_on: sent_at; closed: resolved_at (the present closing has the present value of the source); otherwise the time that the source sends for the change of state.',
        event: 'raised, message, handed_on, due_moved, closed or reopened.',
        user_id: 'Person that caused the event: users.id; null where the source does not send it.',
        from_value:
          'due_moved: previous due day, null for none. handed_on: person that the previous message had handed it to, null for the first. Other events: null.',
        to_value: 'due_moved: new due day, null for none. handed_on: the new assignee. Other events: null.',
      },
    ),
    followup_daily: relation(
      'Number of follow-ups in each status on each day (reporting time zone), as of the last run of that day, or at its end where no run counted it (is_counted), from the day of the first follow-up, at the earliest 2000-01-01, to today. Days after the last run have its numbers. The statuses exclude each other, and their sum is the number of all follow-ups. A day that is over is not changed by follow-ups that arrive later. Before its first observed state, a follow-up counts as open from its creation to its completion, or to the start of that state when it has no completion.',
      DAILY,
    ),
    followup_daily_by_assignee: relation(
      'The numbers of followup_daily for each assignee. A past day counts for the assignee of that day; before the first sync messages tell who that was, and before the first message that hands a follow-up on nobody is known. Numbers of 0 have no row.',
      { ...DAILY, assignee_id: 'Assignee at the end of that day: users.id; null: not assigned.' },
    ),
    followup_daily_by_form: relation(
      'The numbers of followup_daily for each form, by the responses that raised the follow-ups. Numbers of 0 have no row.',
      { ...DAILY, form_id: 'Form of the responses that raised them; null where the source sent none.' },
    ),
    due_followups: relation(
      'Due days of live follow-ups that came, one row each: the present due day up to today, and an earlier one that was the due day at its end and was moved later. Shares of it count what was never done, too; closed_in_time of followup_overview has only what was closed.',
      {
        ...FOLLOWUP,
        due_on: 'The due day.',
        done_on: 'Day of the completion; null: not completed, or only after this due day was moved.',
        done_in_time: 'Whether it was done by then; false: later or not at all; null: due today, not done.',
        form_id: 'Form of the response that raised it.',
        assignee_id: 'Assignee: users.id; of a due day that was moved, the assignee at its end.',
      },
    ),
    day_counts: relation('Numbers of records by status, for the …_daily views.', {
      ...COUNTED_STREAM,
      counted_by: 'all, assignee or form.',
      id: 'Assignee or form; empty: none, or all records.',
      status: 'Status at the end of these days.',
      days: 'The days on which another number begins, the earliest first.',
      records: 'Number of records, for each of the days.',
      in_service: 'equipments: number of these in service, for each of the days; otherwise 0.',
    }),
    counted_days: relation('The days that runs have counted, per stream.', {
      ...COUNTED_STREAM,
      timezone: 'Reporting time zone of the days; after a change the next run counts them anew, from states.',
      history_from: 'Day of the first run, in the time zone of then.',
      counted_to: 'Newest counted day, which is the day of the last successful run.',
      counted: 'The days that a run has counted; the others are counted from states.',
    }),
  };
}
