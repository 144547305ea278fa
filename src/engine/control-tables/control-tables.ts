/** Schema `safety_sync`: runs, progress and problems of the worker itself. */
import { type SQL, sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgSchema, text } from 'drizzle-orm/pg-core';
import type { RunKind, RunTrigger, SliceStatus } from '../streams/state.ts';
import { idText, instant, json, tablesOf } from '../streams/columns.ts';
import type { UserForm } from '../streams/optional-methods.ts';
import type { IssueKind, StreamName } from '../streams/stream.ts';

export const controlSchema = pgSchema('safety_sync');

export interface StreamKey {
  readonly accountId: string;
  readonly stream: StreamName;
}

/** The rows of a stream. */
export const isOf = ({ accountId, stream }: StreamKey): SQL =>
  sql`account_id = ${accountId} and stream = ${stream}`;

/** The number alone is unique; with the account a statement stays on one node where accounts are distributed. */
export interface RunKey {
  readonly accountId: string;
  readonly runId: number;
}

const controlTable = tablesOf(controlSchema);

const streamName = () => idText().$type<StreamName>().notNull();
const count = () => bigint({ mode: 'number' }).notNull().default(0);

export const runs = controlTable(
  'runs',
  ['run_id'],
  {
    run_id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    stream: streamName(),
    kind: idText().$type<RunKind>().notNull(),
    trigger: text().$type<RunTrigger>().notNull(),
    status: idText().$type<'running' | 'succeeded' | 'failed' | 'skipped'>().notNull(),
    started_at: instant().notNull().defaultNow(),
    finished_at: instant(),
    requests: count(),
    retries: count(),
    records_read: count(),
    inserted: count(),
    updated: count(),
    unchanged: count(),
    deleted: count(),
    rejected: count(),
    /** reconcile: changes of the source up to the watermark that no sync had brought; expected: 0. */
    repaired: bigint({ mode: 'number' }),
    watermark_before: instant(),
    watermark_after: instant(),
    error_code: text(),
    error_message: text(),
    /** The service's identifier of the failing call; of the last call when nothing failed. */
    request_id: idText(),
    /** The reason why a run was skipped, or a remark about a run that succeeded. */
    note: text(),
    /** Host, process and database session of the worker that holds the stream's lock. */
    owner: text().notNull(),
    backend_pid: integer(),
    program_version: text().notNull(), // No default, so an older program, which does not set this column, fails before it stores.
  },
  (t) => [
    index('runs_stream_idx').on(t.account_id, t.stream, t.run_id.desc()),
    index('runs_running_idx')
      .on(t.account_id, t.stream)
      .where(sql`${t.status} = 'running'`),
    index('runs_reconcile_idx')
      .on(t.account_id, t.stream, t.run_id.desc())
      .where(sql`${t.kind} = 'reconcile'`),
  ],
);

/** The position from which the next run of a stream continues. */
export const streamState = controlTable('stream_state', ['stream'], {
  stream: streamName(),
  /**
   * followups: every change of the service up to this time is stored. The time is by the service's clock, never by the
   * worker's.
   */
  watermark: instant(),
  /** followups: the backfill under way or last done: its bounds of creation time (null: open) and the watermark it will leave (null: it is done). */
  backfill_from: instant(),
  backfill_to: instant(),
  backfill_watermark: instant(),
  backfill_started_at: instant(),
  /** training: `last_updated` of the newest list that was stored. */
  calculated_at: instant(),
  /** training: when the list was last requested, by the database's clock. */
  checked_at: instant(),
  /** training: how long after that check the list cannot have changed, in ms. */
  fresh_for_ms: bigint({ mode: 'number' }),
  last_success_at: instant(),
  /** followups: the last attempt to read everything, and the duration of the last one that was complete. */
  complete_read_at: instant(),
  complete_read_ms: bigint({ mode: 'number' }),
  /** followups: how many more records the service counted after the last complete read than were stored. */
  difference: bigint({ mode: 'number' }),
  /** When everything that was older than its retention had been removed. */
  retained_at: instant(),
  /** equipments: types that a successful run requested, with the time of the last one. */
  read_parts: jsonb(),
  complete_until: instant(), // stream-session.ts writes it at the beginning of a transaction.
});

/** The ledger of a backfill: one row per slice of creation time. */
export const backfillSlices = controlTable('backfill_slices', ['stream', 'created_from', 'created_to'], {
  stream: streamName(),
  created_from: instant().notNull(),
  created_to: instant().notNull(),
  status: idText().$type<SliceStatus>().notNull(),
  /** Everything created from here on is stored: an interrupted slice continues here. */
  read_to: instant(),
  /** The service's total for the slice when it was begun. */
  expected: bigint({ mode: 'number' }),
  /** Distinct records seen. */
  records: bigint({ mode: 'number' }).notNull().default(0),
  finished_at: instant(),
});

/** Values that could not be stored as they were received. `value` holds them, so none is lost. */
export const dataIssues = controlTable(
  'data_issues',
  ['stream', 'fingerprint'],
  {
    stream: streamName(),
    /** Identifies the problem: record, field and kind; of a record without a key, its content. */
    fingerprint: idText().notNull(),
    record_id: idText(),
    field: idText(),
    kind: idText().$type<IssueKind>().notNull(),
    problem: text().notNull(),
    value: json(),
    /** The context that `data-issues --retry` needs to process the record again. */
    context: jsonb(),
    first_seen_at: instant().notNull().defaultNow(),
    last_seen_at: instant().notNull().defaultNow(),
    occurrences: bigint({ mode: 'number' }).notNull().default(1),
    resolved_at: instant(),
  },
  (t) => [
    index('data_issues_open_idx')
      .on(t.account_id, t.stream, t.record_id)
      .where(sql`${t.resolved_at} is null`),
    index('data_issues_new_fields_idx')
      .on(t.account_id, t.stream, t.field)
      .where(sql`${t.kind} = 'unknown_field' and ${t.resolved_at} is null`),
  ],
);

/** Ids and names of forgotten people, as pseudonyms: by these they are recognized in later responses. */
export const forgotten = controlTable('forgotten', ['pseudonym'], {
  pseudonym: idText().notNull(),
  /** The pseudonym of the person's id, which replaces the id and the name. */
  person: idText().notNull(),
  /** null: an id. For a name: its number of words. */
  words: integer(),
  /** The id of the `PRIVACY_KEY` with which the pseudonyms were made. */
  key_id: idText().notNull(),
  forgotten_at: instant().notNull().defaultNow(),
});

/** How far the stored rows of a stream agree with the privacy settings. */
export const privacyCleanings = controlTable('privacy_cleanings', ['stream'], {
  stream: streamName(),
  /** The privacy settings, and the forgotten people. */
  policy: jsonb().notNull(),
  /** null: the cleaning was begun, and is repeated from the beginning. */
  finished_at: instant(),
});

/** Every user id in the rows of any stream, and which of them users.info was asked for. */
export const userLookups = controlTable('user_lookups', ['user_id'], {
  user_id: idText().notNull(),
  first_met_at: instant().notNull().defaultNow(),
  asked_at: instant(),
  /** When users.info named the person; null again when a list had them since. */
  named_at: instant(),
});

/**
 * Messages of the workers: each open alert, or ended one with an unsent end, per channel; and the scheduled report of
 * each account.
 */
export const outbox = controlTable('outbox', ['event', 'subject', 'channel'], {
  /** An alert, or `report`. */
  event: idText().notNull(),
  /** The subject of the event: a stream, or a stream and one of its fields; empty: the account. */
  subject: idText().notNull(),
  channel: idText().notNull(),
  /** The code of the error that caused it. */
  code: text(),
  /** Further text of the message. For a report: cron expression and time zone of its plan. */
  detail: text(),
  began_at: instant().notNull(),
  /** null while it lasts. */
  ended_at: instant(),
  /** When its last message was sent; null: none was sent yet. */
  sent_at: instant(),
  /** When a message has to be sent; null: there is none to send. */
  due_at: instant(),
  /** Failed attempts since a message was last sent. */
  tries: integer().notNull().default(0),
  /** The problem of the last failed attempt. For a report: its error code. */
  problem: text(),
});

/** The optional methods of the service that were asked for: when, and how that ended. */
export const optionalMethods = controlTable('optional_methods', ['method'], {
  method: idText().notNull(),
  asked_at: instant().notNull(),
  /** The last time that it was answered and stored. */
  read_at: instant(),
  code: text(),
  unnamed: idText().array(),
  form: text().$type<UserForm>(),
});

/** How many requests an account may still start, and until when its service accepts none: see `engine/api/request-budget.ts`. */
export const requestBudget = controlTable('request_budget', [], {
  /** Starts of requests are saved up since then. */
  saved_since: instant().notNull(),
  /** When the newest block began. */
  blocked_at: instant(),
  /** null: there is no block. */
  blocked_until: instant(),
  /** Until then the one request after a block is under way; null: it is not. */
  probe_until: instant(),
});

/** Accounts that are being renamed or removed. No run of either name begins until that is finished. */
export const accountChanges = controlTable('account_changes', [], {
  /** null: it is being removed. */
  renamed_to: idText(),
  began_at: instant().notNull().defaultNow(),
});

/** The service that an account belongs to: the one from which it was first read. */
export const sources = controlTable('sources', [], {
  /** Scheme, host, port and path, as `normalizeBaseUrl` makes it. */
  address: text().notNull(),
  /** As account.info sent them; null: it did not. */
  service_id: idText(),
  service_name: text(),
  /** Until a stream has read everything from the new address, its runs delete what that address lacks, without the guard. */
  moved_at: instant(),
});
