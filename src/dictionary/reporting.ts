/** The tables and views that belong to no stream: days, labels, and the age of the data. */
import { type Descriptions, relation } from './description.ts';

/** The addresses of records, in the table of settings and in the view that the other views read. */
const URLS = {
  followup_url: 'Address of a follow-up with {id}, {response_id}, {form_id} (RECORD_URL_TEMPLATE_FOLLOWUP).',
  resource_url: 'Address of a document, in the same form (RECORD_URL_TEMPLATE_RESOURCE).',
  equipment_url: 'Address of a piece of equipment, in the same form (RECORD_URL_TEMPLATE_EQUIPMENT).',
  employee_url: 'Address of a person, in the same form (RECORD_URL_TEMPLATE_EMPLOYEE).',
};

/** A view with a row for each of these that a person has. */
const ofPerson = (what: string) =>
  relation(`One row for each ${what} of each person.`, {
    id: `Id of the ${what}.`,
    label: `Name of the ${what}: the label in safety.labels, else the name in safety.names, else the id as text.`,
  });

export const REPORTING: Descriptions = {
  reporting_settings: relation(
    'Settings for the days and links in views, one row per account; the worker writes them.',
    { changed_at: 'Time of the last change of the time zone.', ...URLS },
  ),
  reporting_clock: relation(
    'The current day of each account that has a row in reporting_settings; UTC applies to the other accounts.',
    URLS,
  ),
  calendar: relation(
    'One row for every day from 2000-01-01 to ten years after the last start of a worker. BI tools use it as a date table. Weeks follow ISO 8601.',
    {
      date: 'The day.',
      iso_year: 'Year of the ISO week; around New Year it may differ from the year of the day.',
      iso_week: 'ISO week, 1 to 53.',
      week_starts_on: 'Monday of the week.',
      month_starts_on: 'First day of the month.',
      quarter_starts_on: 'First day of the quarter.',
      year: 'Year.',
      month: 'Month, 1 to 12.',
      day_of_week: '1 = Monday to 7 = Sunday.',
      is_weekend: 'True on Saturday and Sunday.',
    },
  ),
  labels: relation(
    'Names that people give to ids, one row each; they go before those that the service gives (names). People write them (labels import), and a sync never changes them.',
    {
      kind: 'Kind of object that the id identifies: form, training, equipment_type, schedule, category, field_office, client, line_of_business, metafield or metafield_item.',
      id: 'The id as text, also for numeric ids.',
      label: 'Name of the object, shown as …_label; null: the name of the service, in the group parent_id.',
      parent_id: 'Id of the parent, a label of the same kind, as the region of a field office; null: none.',
    },
  ),
  people: relation(
    'One row for every person with an id in a stored row, now or earlier. Each …_key of a person in another view therefore has its row here.',
    {
      user_id: 'Identifier of the person: users.id; a pseudonym after the person was forgotten.',
      name: 'Name in users; the id if the service sends no name, or if the name was not read yet.',
      is_trained_here: 'Whether the training list has the person: training_employee_status has a live row.',
      is_forgotten: 'Whether the person was forgotten (safety-sync forget).',
      job_title: 'Name of the job title; without a name, its id.',
      field_office: 'Name of the first field office; people_field_offices has all of them.',
      line_of_business: 'Name of the first line of business; people_lines_of_business has all of them.',
    },
  ),
  people_clients: ofPerson('client'),
  people_field_offices: ofPerson('field office'),
  people_lines_of_business: ofPerson('line of business'),
  accounts: relation('One row for each account.', {
    name: 'Name of the account at the service; without one, account_id.',
    history_from: 'Day from which all daily views show what was observed: the latest first run; null before.',
  }),
  freshness: relation(
    'Time of the last update of each stream, one row per account and stream that was ever tried. max(_synced_at) only shows the last change, so it cannot distinguish a source without changes from a worker that has stopped; this view can.',
    {
      last_success_at: 'End of the last successful run; null before the first.',
      age_seconds: 'Seconds since last_success_at.',
      last_status:
        'Result of the last run that sent requests to the service: succeeded or failed; null while the first one runs. Skipped runs do not count.',
      last_finished_at: 'End of that run.',
      as_of:
        'Time up to which the contents of the source are stored. followups: the newest change that the service returned, by its clock, and every change before it is stored too; for an account without changes this time is old although the last read (last_success_at) is recent. training-employee-status: the time of the calculation at the source. Other streams: last_success_at.',
      unread_rows:
        'equipments: number of live rows with types that the last successful run did not request, because they are no longer configured. These rows keep the values of their last read. 0 for the other streams.',
      unread_types: 'equipments: these types, separated by commas; null: none.',
      unread_since: 'equipments: last read of the type unread for the longest time; null: none or unknown.',
      unread_since_on: 'Day of unread_since in the reporting time zone.',
      counted_to:
        'Newest day that a run has counted for the daily views of this stream, which is the day of its last successful run; null: the stream has no daily views. Later days have its numbers.',
      history_from:
        'Day of the first successful run (reporting time zone of that time): for earlier days a history shows what the source reported at that run; null: the stream has no daily views.',
      complete_until:
        'For readers of changes: every row of this account and stream with an earlier _synced_at is visible, and no further row will appear before this time (docs/bi.md, "Reading changes"). null before the first stored record. The time never goes back, even if the clock of the database is set back.',
    },
  ),
};
