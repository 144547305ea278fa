/** Schema `safety_sync`, and the meaning of everything in both schemas. */
import { type Descriptions, relation } from './description.ts';
import { REPORTING } from './reporting.ts';

const stream_state = relation('State from which the next run of a stream continues.', {
  watermark: 'followups: all changes up to then (by the service) are stored; null before the first sync.',
  backfill_from: 'followups: lower bound of the current or the last backfill; null: none.',
  backfill_to: 'followups: upper bound of that backfill; null: none.',
  backfill_watermark: 'followups: watermark that the backfill sets at its end; null: none is under way.',
  backfill_started_at: 'followups: start of the backfill; null without a backfill.',
  calculated_at: 'training: last_updated of the newest stored list; null before the first sync.',
  checked_at: 'training: last request for the list; null before the first request.',
  fresh_for_ms: 'training: period in ms after this request during which the list cannot have changed.',
  last_success_at: 'End of the last successful run of the whole stream; null before the first.',
  complete_until: 'Time directly after the last transaction that stored records; safety.freshness shows it.',
  read_parts: 'equipments: each type that a successful run requested, with the time of the last such run.',
  complete_read_at: 'followups: last attempt of a complete read; completed-trainings: last one; null: never.',
  complete_read_ms: 'followups: duration in ms of the last complete read; null before the first.',
  difference:
    'followups: how many more follow-ups the service counted after the last complete read than it showed (negative: fewer); 0 or null: none. A sync that finds another difference reads everything again.',
  retained_at: 'Last removal of what is older than RETENTION_… allows; null: never.',
});

const CONTROL: Descriptions = {
  stream_state,
  runs: relation(
    'One row per run of one stream. Rows are kept for RETENTION_RUNS_DAYS, or for ever when it is not set.',
    {
      run_id: 'Number of the run.',
      kind: 'Kind of run: sync, backfill or reconcile.',
      trigger: 'Cause of the run: schedule or manual.',
      status: 'State of the run: running, succeeded, failed or skipped.',
      started_at: 'Start of the run.',
      finished_at: 'End of the run; null while it runs.',
      requests: 'Number of requests to the service.',
      retries: 'Number of repeated requests.',
      records_read: 'Number of received records.',
      inserted: 'Number of new records.',
      updated: 'Number of records that had changed, or came back after a deletion.',
      unchanged: 'Number of records that needed no write.',
      deleted: 'Number of records marked as deleted, also those that the service sends as deleted.',
      rejected: 'Number of records without a usable key, or that PostgreSQL refused: see data_issues.',
      repaired:
        'reconcile: number of changes up to the watermark that no sync had brought; null for other kinds.',
      watermark_before: 'Watermark of the stream before the run; null without one.',
      watermark_after: 'Watermark of the stream after the run; null without one.',
      error_code: 'Error code of the failure (docs/errors.md); null when the run did not fail.',
      error_message: 'Message of the failure; null when the run did not fail.',
      request_id: 'Id that the service gave to the failing request, otherwise to the last one.',
      note: 'Reason of a skipped run, or a remark about a successful run; null without a remark.',
      owner: 'Host and process of the worker that executed the run.',
      program_version: 'The version of safety-sync that wrote the run; unknown for runs before 1.0.0.',
      backend_pid: 'Database session that held the lock of the stream; null when the run was skipped.',
    },
  ),
  backfill_slices: relation(
    'Ledger of a first sync or backfill of follow-ups, with one row per slice of creation time.',
    {
      created_from: 'Lower bound of the creation time; the year 1970: none.',
      created_to: 'Upper bound of the creation time; the year 2100: none.',
      status:
        'State of the slice: pending, done or failed. A failed slice is a range that the service does not return: every sync reads it again, and fails while there is one.',
      read_to: 'What was created from then on is stored: an interrupted slice continues here; null: nothing.',
      expected: 'Total that the service sent at the start of the slice; null before the start.',
      records: 'Number of distinct records read.',
      finished_at: 'End of the slice; null before.',
    },
  ),
  data_issues: relation(
    'Values and records that could not be stored as received; the column value keeps them.',
    {
      fingerprint: 'Identifies the problem by record, field and kind; a record without a key by its content.',
      record_id: 'Key of the record; null when the record has none, or when the issue concerns all records.',
      field: 'Field in the record; null when the issue concerns the complete record.',
      kind: 'Kind of issue: record_rejected, field_nulled, unknown_field or unknown_value.',
      problem: 'Expected and received value.',
      value: 'Received value.',
      context: 'Data that is needed to process the record again; null when nothing is needed.',
      first_seen_at: 'First occurrence.',
      last_seen_at: 'Last occurrence.',
      occurrences: 'Number of occurrences.',
      resolved_at: 'Time at which the problem was corrected or disappeared; null while the issue is open.',
    },
  ),
  forgotten: relation('Ids and names of forgotten people, as keyed hashes (docs/privacy.md).', {
    pseudonym: 'Keyed hash of the id or the name.',
    person: 'Replacement for id and name: the keyed hash of the id.',
    words: 'Number of words in the name; null: the row is an id.',
    key_id: 'Identifies the PRIVACY_KEY of the hashes.',
    forgotten_at: 'Time of the command safety-sync forget.',
  }),
  privacy_cleanings: relation('The privacy settings that the stored rows of a stream agree with, or will.', {
    policy: 'Applied settings.',
    finished_at: 'End of the cleaning; null while it is under way or was interrupted.',
  }),
  user_lookups: relation(
    'Every id of a person in the rows of a stream. users.info is asked for those that users lacks, and again after a week.',
    {
      first_met_at: 'First record with the id.',
      asked_at: 'Last request of users.info; null before the first.',
      named_at:
        'When users.info named the person; null without that, or when users.list had the person since.',
    },
  ),
  outbox: relation(
    'Everything that one of several workers sends: alerts that last or whose end was not told yet, one row for each channel, and the scheduled report of each account.',
    {
      event: 'Kind of alert: docs/operations.md, Alerts; or report.',
      subject: 'Subject of the alert: a stream, or a stream and one of its fields; empty: the account.',
      channel: 'Channel: webhook or mail; for the report: report.',
      code: 'Error code of the cause (docs/errors.md); null without an error.',
      detail: 'Details in the message; for the report: cron expression and time zone of its schedule.',
      began_at: 'First time that a worker found the condition or planned the report.',
      ended_at: 'First time that a worker found the condition over; null while it lasts.',
      sent_at: 'Time of the last message that was sent; null: none yet.',
      due_at: 'Time of the next message; null: none is due.',
      tries: 'Number of failed attempts since the last delivered message.',
      problem: 'Cause of the last failed attempt, for the report its error code; null: it did not fail.',
    },
  ),
  status: relation(
    'The facts about each stream from which its problems are found: for the status page, probes, alerts, safety-sync status and check.',
    {
      open_pid: 'Database session of the run that has not ended; null: none.',
      facts:
        'As JSON: last success, position, the failure of the newest run and of the newest reconcile, open data issues, new fields. Times are in ms since 1970.',
      not_offered: 'Optional methods that the service lacks.',
      blocked_until: 'End of the pause after the service refused a request; null: there is none.',
    },
    stream_state,
  ),
  request_budget: relation(
    'Requests that an account may still start (API_REQUESTS_PER_MINUTE), and its pause after the service refused one. All processes share the row.',
    {
      saved_since: 'Time since which starts are saved up.',
      blocked_at: 'Start of the latest pause; null: there was none.',
      blocked_until: 'End of the pause; null after a request succeeded, or when there was none.',
      probe_until: 'Time until which the one request after a pause has to end; null: none is under way.',
    },
  ),
  account_changes: relation(
    'Accounts that are being renamed or removed (safety-sync accounts), one row each until the change is finished. No run of these accounts starts meanwhile.',
    {
      renamed_to: 'New name of the account; null: the account is being removed.',
      began_at: 'Start of the change.',
    },
  ),
  sources: relation(
    'The service that each account belongs to: the one from which it was first read. Runs refuse another one.',
    {
      address: 'Address of the service: scheme, host, port and path.',
      service_id: 'Id of the account at the service (account.info); null: the service sent none.',
      service_name: 'Name of the account at the service, only shown; null: the service sent none.',
      moved_at: 'Time of the last safety-sync accounts move; null: never moved.',
    },
  ),
  optional_methods: relation(
    'Methods that are used where the service has them, one row for each that was ever requested.',
    {
      method: 'The method.',
      asked_at: 'Last request.',
      read_at: 'Last request that was answered and stored; null: none.',
      code: 'Error code of the last request; null when it was answered. After api_method_not_found, token_permission or parameter_unexpected the method counts as not offered and is requested again after a week.',
      form: 'users.info: the parameter with the id that worked, id or user; null: none did yet.',
      unnamed: 'Ids, as kind:id, that were met and had no name before the last answered request.',
    },
  ),
  reader_accounts: relation(
    'Roles that are confined to accounts (safety-sync access), by the policies of the tables of schema safety.',
    { role: 'Role of PostgreSQL.', accounts: 'Accounts that the role may read; empty: none.' },
  ),
  migrations: relation('Applied migrations: of tables, and one row for each function file and view.', {
    id: 'Order of application.',
    hash: 'Hash of the text of the migration, function or view.',
    created_at: 'Order of the migrations of tables: when each was written, in ms; null: a function or view.',
    name: 'Name of the function or view; null: a migration of tables.',
    program_version: 'The version of safety-sync that applied it.',
  }),
};

/** Each stream describes its own tables, and this folder describes the others. */
export const dictionaryOf = (
  streams: readonly { readonly descriptions: Descriptions }[],
): Readonly<Record<'safety' | 'safety_sync', Descriptions>> => ({
  safety: Object.assign({}, ...streams.map(({ descriptions }) => descriptions), REPORTING) as Descriptions,
  safety_sync: CONTROL,
});
