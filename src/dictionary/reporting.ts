/** What belongs to no stream: days, labels, and how old the data is. */
import { ACCOUNT, type Descriptions, keyTo, localDay } from './description.ts';

/** `stream`: the column that names one. */
export const describeReporting = (stream: string): Descriptions => ({
  reporting_settings: {
    comment: 'How the views count days, one row per account; written by the worker.',
    columns: {
      ...ACCOUNT,
      timezone: 'Time zone in which days begin (REPORTING_TIMEZONE); UTC where an account has no row.',
      changed_at: 'When the time zone was last changed.',
    },
  },
  reporting_clock: {
    comment:
      'What day it is for each account that has a row in reporting_settings; UTC holds for the others.',
    columns: {
      ...ACCOUNT,
      timezone: 'Time zone in which days begin (REPORTING_TIMEZONE).',
      today: 'Today in that time zone.',
    },
  },
  calendar: {
    comment:
      'Every day from 2000-01-01 to ten years from the last start of a worker, one row each: a date table for BI tools and the days of the …_daily views. Weeks are those of ISO 8601.',
    columns: {
      date: 'The day.',
      iso_year: 'Year to which the ISO week belongs; around New Year not always the year of the day.',
      iso_week: 'ISO week, 1 to 53.',
      week_starts_on: 'Monday of its week.',
      month_starts_on: 'First day of its month.',
      quarter_starts_on: 'First day of its quarter.',
      year: 'Year.',
      month: 'Month, 1 to 12.',
      day_of_week: '1 = Monday to 7 = Sunday.',
      is_weekend: 'Saturday or Sunday.',
    },
  },
  labels: {
    comment:
      'Names for the ids that the service sends bare, one row each; written by people (labels import), never by a sync.',
    columns: {
      ...ACCOUNT,
      kind: 'What the id stands for: form, training, equipment_type, schedule, category, field_office, client, line_of_business, metafield or metafield_item.',
      id: 'The id as text, numbers too.',
      label: 'Its name: shown as …_label in the views, where an id without a label is shown as text.',
      parent_id:
        'Id, of the same kind, of what this one belongs to: the region of a field office; null for none.',
    },
  },
  people: {
    comment:
      'Every person whose id a stored row carries, or ever carried, one row each: each …_key of a person in another view has its row here.',
    columns: {
      ...ACCOUNT,
      user_id: 'Identifier of the person: users.id; a pseudonym when the person was forgotten.',
      name: 'Name in users; the id where the service sends none, or was not asked yet.',
      is_trained_here: 'Whether the training report has the person: a live row of training_employee_status.',
      is_forgotten: 'Whether the person was forgotten (safety-sync forget).',
      user_key: keyTo('The person', 'user_id'),
    },
  },
  freshness: {
    comment:
      'When each stream was last updated, one row per account and stream that was ever tried. Unlike max(_synced_at), which is the last change, it tells a quiet source from a worker that has stopped.',
    columns: {
      ...ACCOUNT,
      stream,
      last_success_at: 'When the last successful run ended; null before the first.',
      age_seconds: 'Seconds since then.',
      last_status:
        'How the last run ended that asked the service: succeeded or failed; null while the first one runs. Skipped runs do not count.',
      last_finished_at: 'When it ended.',
      as_of:
        'Up to when what the source holds is stored. followups: the newest change that the service told, by its clock, with every change before it; of a quiet account that is old however lately it was read (last_success_at); training-employee-status: when the source calculated it; the others: last_success_at.',
      last_success_on: localDay('last_success_at'),
      last_finished_on: localDay('last_finished_at'),
      unread_rows:
        'equipments: live rows of types that the last successful run did not ask for, because they are configured no more: they are as they were when last read. 0 for the other streams.',
      unread_types: 'equipments: those types, with commas between; null: none.',
      unread_since:
        'equipments: when the first of them was last read; null: none, or before that was recorded.',
      unread_since_on: localDay('unread_since'),
      counted_to:
        'Newest day of the daily views of this stream: that of its last successful run; null: it has none.',
      complete_until:
        'For readers of changes: every row of this account and stream whose _synced_at is earlier is visible, and none will appear before it any more (docs/bi.md, "Reading changes"); null before anything was stored. It never goes back, also where the clock of the database is set back.',
    },
  },
});
