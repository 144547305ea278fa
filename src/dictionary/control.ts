/** Schema `safety_sync`. */
import type { Descriptions } from './description.ts';

const account_id = 'Account (SAFETY_ACCOUNT).';

/** `stream`: the column that names one. */
export const describeControl = (stream: string): Descriptions => ({
  runs: {
    comment: 'One row per run of one stream, kept for RETENTION_RUNS_DAYS, else for ever.',
    columns: {
      run_id: 'Number of the run.',
      account_id,
      stream,
      kind: 'sync, backfill or reconcile.',
      trigger: 'schedule or manual.',
      status: 'running, succeeded, failed or skipped.',
      started_at: 'When it began.',
      finished_at: 'When it ended; null while it runs.',
      requests: 'Requests to the service.',
      retries: 'Requests that were repeated.',
      records_read: 'Records received.',
      inserted: 'Records that were new.',
      updated: 'Records that had changed, or came back from deletion.',
      unchanged: 'Records that needed no write.',
      deleted: 'Records marked as deleted.',
      rejected: 'Records without a usable key, or that PostgreSQL refused: see data_issues.',
      repaired:
        'reconcile: changes that earlier runs should have stored, 0 when all is well; null for other kinds.',
      watermark_before: 'Watermark of the stream before the run; null when it had none.',
      watermark_after: 'Watermark after the run; null when it has none.',
      error_code: 'Why it failed (docs/errors.md); null when it did not.',
      error_message: 'The failure in words; null when it did not fail.',
      request_id: 'The service’s id of the failing request, else of the last one; null when there was none.',
      note: 'Why it was skipped, or what to know of a run that succeeded; null when there is nothing to say.',
      owner: 'Host and process of the worker.',
      program_version: 'The version of safety-sync that wrote the run; unknown for runs before 1.0.0.',
      backend_pid: 'Database session that held the stream’s lock; null when it was skipped.',
    },
  },
  stream_state: {
    comment: 'Where the next run of a stream goes on.',
    columns: {
      account_id,
      stream,
      watermark:
        'followups: every change that the service had made up to here is stored (the service’s time); null before the first sync.',
      backfill_from: 'followups: lower bound of the backfill under way or last done; null: none.',
      backfill_to: 'followups: its upper bound; null: none.',
      backfill_watermark: 'followups: the watermark that the backfill leaves; null without one.',
      backfill_clock_offset_ms: 'followups: clock_offset_ms of that watermark; null without one.',
      backfill_started_at: 'followups: when the backfill began; null without one.',
      calculated_at: 'training: last_updated of the newest stored report; null before the first sync.',
      clock_offset_ms:
        'How far the service’s clock was ahead of the worker’s when watermark or calculated_at was recorded, in ms; null where the service told no time.',
      older_since:
        'training: since when the service has only sent older reports, by the worker’s clock; null while it does not.',
      checked_at: 'training: when the report was last asked for, by the worker’s clock; null before.',
      checked_at_database: 'training: the same by the database’s clock.',
      fresh_for_ms: 'training: how long after that check the report cannot have changed, in ms.',
      last_success_at: 'End of the last successful run; null before it.',
      complete_until:
        'Just behind the last transaction that stored for the stream: safety.freshness shows it; null before the first.',
      read_parts:
        'equipments: each type that a successful run asked for, with the time of the last such run; null before the first.',
      keyless:
        'Records of the last complete read that came without a usable key, by content, and the keys of rows that may be these records; null: there were none. For the worker.',
      retained_at:
        'When everything older than RETENTION_… allows had last been removed; null: never, or nothing is.',
    },
  },
  backfill_slices: {
    comment: 'Ledger of a first sync or backfill of follow-ups: one row per slice of creation time.',
    columns: {
      account_id,
      stream,
      created_from: 'Creation time from which the slice holds.',
      created_to: 'Creation time up to which it holds.',
      status:
        'pending, done or failed; failed with failures: it was left out and is tried again by itself, further and further apart.',
      read_to: 'Everything created from here on is stored: where a cut-off slice goes on; null before.',
      expected: 'The service’s total for the slice when it was begun; null before.',
      records: 'Distinct records seen.',
      failures:
        'Times in a row that the service failed for every response that holds a certain record of the slice; 0: it did not.',
      finished_at: 'When it was done; null before.',
    },
  },
  data_issues: {
    comment: 'Values and records that could not be stored as they came; the column value keeps them.',
    columns: {
      account_id,
      stream,
      fingerprint: 'Identifies the problem: record, field and kind; of a record without a key, its content.',
      record_id: 'Key of the record; null when it has none or the issue is about all of them.',
      field: 'Where in the record; null when it is the record as a whole.',
      kind: 'record_rejected, field_nulled, unknown_field or unknown_value.',
      problem: 'What was expected and what came.',
      value: 'What came.',
      identity: 'Hash that recognizes a record without a key when it comes back with one; else null.',
      context: 'What is needed to put the record through again; null when nothing is.',
      first_seen_at: 'When it was first met.',
      last_seen_at: 'When it was last met.',
      occurrences: 'How often it was met.',
      resolved_at: 'When it came right or disappeared; null while open.',
    },
  },
  forgotten: {
    comment: 'Ids and names of people that were forgotten, as keyed hashes (docs/privacy.md).',
    columns: {
      account_id,
      pseudonym: 'Keyed hash of the id or the name.',
      person: 'What stands in the place of both: the keyed hash of the id.',
      words: 'How many words the name has; null: it is an id.',
      key_id: 'Tells which PRIVACY_KEY it was made with.',
      forgotten_at: 'When safety-sync forget was run.',
    },
  },
  privacy_cleanings: {
    comment: 'How far the stored rows of a stream comply with the privacy settings.',
    columns: {
      account_id,
      stream,
      policy: 'The settings that are applied.',
      position: 'Where it goes on; null: it is done.',
      rows_seen: 'Rows that were looked at.',
      rows_changed: 'Rows that were rewritten.',
      started_at: 'When it began.',
      finished_at: 'When it was done; null: it is not.',
    },
  },
  user_lookups: {
    comment: 'Every user id that a stream has met, and the time of its next look-up.',
    columns: {
      account_id,
      user_id: 'The id.',
      first_met_at: 'When it was first met.',
      asked_at: 'When the service was last asked; null before.',
      is_known: 'Whether the service knew it; null before it was asked.',
      failures: 'Lookups that failed since the last one that succeeded; 0: none.',
      last_error: 'Error code of the last lookup that failed; null when the last one succeeded.',
      due_at: 'When to ask next.',
    },
  },
  alerts: {
    comment: 'Alerts, one row for each channel: when each began last, and how far its sending is.',
    columns: {
      account_id,
      event: 'What it is: docs/operations.md, Alerts.',
      subject: 'What it is about: a stream, a stream and a field of it; empty: the account.',
      channel: 'webhook or mail.',
      code: 'Of the error behind it (docs/errors.md); null without one.',
      detail: 'What else is told of it; null: nothing.',
      began_at: 'When it was first seen.',
      ended_at: 'When it was seen to be over; null while it lasts.',
      told_at: 'When its beginning was told; null: not yet.',
      due_at: 'When something has to be told; null: nothing has.',
      claimed_by: 'Worker that is telling it; null: none is.',
      claimed_until: 'Until when no other worker tells it.',
      tries: 'Attempts that failed since something was last told.',
      problem: 'Why the last one failed; null when it did not.',
    },
  },
  report_plans: {
    comment: 'When the report of an account is made next, and how far the making is.',
    columns: {
      account_id,
      schedule: 'Cron expression and time zone by which it was planned.',
      due_at: 'When it is made next.',
      claimed_by: 'Worker that is making it; null: none is.',
      claimed_until: 'Until when no other worker makes it.',
      tries: 'Attempts at the due one that failed.',
      made_at: 'When one was last made and sent as a whole; null: none was.',
      error_code: 'Why the last attempt failed (docs/errors.md); null when it did not.',
    },
  },
  account_changes: {
    comment:
      'Accounts that are being renamed or removed (safety-sync accounts), one row each until that is finished: no run of them begins meanwhile.',
    columns: {
      account_id,
      renamed_to: 'Its new name; null: it is being removed.',
      began_at: 'When that began.',
    },
  },
  migrations: {
    comment: 'Migrations that were applied, and in one row the functions and views of the program.',
    columns: {
      id: 'Order of application.',
      hash: 'Of the migration’s text; of all functions and views.',
      created_at:
        'Number by which migrations are ordered (ms): when it was written; null: functions and views.',
      program_version: 'The version of safety-sync that applied it.',
    },
  },
});
