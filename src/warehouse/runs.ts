/** Reads and writes `safety_sync.runs`. */
import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { SafetySyncError } from '../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { type RunKind, runs, type RunStatus, type RunTrigger } from './control-tables.ts';
import type { RecordCounts } from './record-counts.ts';

export type RunRow = typeof runs.$inferSelect;

export interface NewRun {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: RunKind;
  readonly trigger: RunTrigger;
  /** Host and process of the worker. */
  readonly owner: string;
  readonly backendPid: number | null;
  readonly watermark: string | null;
}

/** What the service was asked in a run. */
export interface RunRequests {
  readonly requests: number;
  readonly retries: number;
  readonly lastRequestId: string | undefined;
}

export interface RunEnd {
  readonly runId: number;
  readonly requests: RunRequests;
  readonly counts: Readonly<RecordCounts>;
  readonly watermark: string | null;
  readonly status: Exclude<RunStatus, 'running'>;
  /** reconcile: changes that earlier runs should have stored; null where that cannot be said. */
  readonly repaired: number | null;
  readonly note: string | null;
  readonly failure: SafetySyncError | null;
}

const ERROR_MESSAGE_CHARACTERS = 2000;

/** Runs that are still open while we hold the stream's lock belong to workers that are gone. */
export async function closeDeadRuns(db: Queryable, accountId: string, stream: StreamName): Promise<number> {
  const closed = await db
    .update(runs)
    .set({
      status: 'failed',
      finished_at: sql`clock_timestamp()`,
      error_code: 'worker_died',
      error_message: sql`'the worker ' || ${runs.owner} || ' ended without closing this run; nothing was half stored'`,
    })
    .where(and(eq(runs.account_id, accountId), eq(runs.stream, stream), eq(runs.status, 'running')))
    .returning({ run_id: runs.run_id });
  return closed.length;
}

export async function startRun(db: Queryable, run: NewRun): Promise<number> {
  const [row] = await db
    .insert(runs)
    .values({
      account_id: run.accountId,
      stream: run.stream,
      kind: run.kind,
      trigger: run.trigger,
      status: 'running',
      watermark_before: run.watermark,
      owner: run.owner,
      backend_pid: run.backendPid,
    })
    .returning({ run_id: runs.run_id });
  if (row === undefined) throw new TypeError('insert returned no run');
  return row.run_id;
}

/** A run that did not take place, with the reason. */
export async function recordSkippedRun(db: Queryable, run: NewRun, note: string): Promise<void> {
  await db.insert(runs).values({
    account_id: run.accountId,
    stream: run.stream,
    kind: run.kind,
    trigger: run.trigger,
    status: 'skipped',
    finished_at: sql`clock_timestamp()`,
    watermark_before: run.watermark,
    watermark_after: run.watermark,
    owner: run.owner,
    note,
  });
}

function countColumns(counts: Readonly<RecordCounts>, requests: RunRequests) {
  return {
    requests: requests.requests,
    retries: requests.retries,
    records_read: counts.read,
    inserted: counts.inserted,
    updated: counts.updated,
    unchanged: counts.unchanged,
    deleted: counts.deleted,
    rejected: counts.rejected,
    request_id: requests.lastRequestId ?? null,
  };
}

/** Counters of a run that goes on, in the transaction that stored what they count. */
export async function updateRunCounts(
  db: Queryable,
  runId: number,
  counts: Readonly<RecordCounts>,
  requests: RunRequests,
): Promise<void> {
  await db.update(runs).set(countColumns(counts, requests)).where(eq(runs.run_id, runId));
}

/** Closes a run in the transaction that stored its data. */
export async function finishRun(db: Queryable, end: RunEnd): Promise<void> {
  await db
    .update(runs)
    .set({
      ...countColumns(end.counts, end.requests),
      status: end.status,
      finished_at: sql`clock_timestamp()`,
      watermark_after: end.watermark,
      repaired: end.repaired,
      note: end.note,
      error_code: end.failure?.code ?? null,
      error_message: end.failure?.message.slice(0, ERROR_MESSAGE_CHARACTERS) ?? null,
      request_id: end.failure?.requestId ?? end.requests.lastRequestId ?? null,
    })
    .where(eq(runs.run_id, end.runId));
}

/** Closes a run that stored nothing since its last checkpoint. */
export async function failRun(
  db: Queryable,
  runId: number,
  failure: SafetySyncError,
  requests: RunRequests,
): Promise<void> {
  await db
    .update(runs)
    .set({
      status: 'failed',
      finished_at: sql`clock_timestamp()`,
      requests: requests.requests,
      retries: requests.retries,
      watermark_after: sql`${runs.watermark_before}`,
      error_code: failure.code,
      error_message: failure.message.slice(0, ERROR_MESSAGE_CHARACTERS),
      request_id: failure.requestId ?? requests.lastRequestId ?? null,
    })
    .where(and(eq(runs.run_id, runId), eq(runs.status, 'running')));
}

export interface RecentRun {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: RunKind;
  readonly withinMs: number;
}

/** Whether such a run began lately and was not cut off: by the database's clock, which all workers share. */
export async function hasRecentRun(db: Queryable, { accountId, stream, kind, withinMs }: RecentRun) {
  const [row] = await db
    .select({ run_id: runs.run_id })
    .from(runs)
    .where(
      and(
        eq(runs.account_id, accountId),
        eq(runs.stream, stream),
        eq(runs.kind, kind),
        inArray(runs.status, ['succeeded', 'failed']),
        sql`coalesce(${runs.error_code}, '') not in ('worker_died', 'interrupted', 'lock_lost')`,
        sql`${runs.started_at} > clock_timestamp() - make_interval(secs => ${withinMs / 1000}::float8)`,
      ),
    )
    .limit(1);
  return row !== undefined;
}

export interface RunFilter {
  readonly accountId: string;
  readonly stream?: StreamName | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function readRuns(db: Queryable, filter: RunFilter): Promise<RunRow[]> {
  const conditions: SQL[] = [eq(runs.account_id, filter.accountId)];
  if (filter.stream !== undefined) conditions.push(eq(runs.stream, filter.stream));
  return await db
    .select()
    .from(runs)
    .where(and(...conditions))
    .orderBy(desc(runs.run_id))
    .limit(filter.limit);
}

/** The run that holds a stream now, if any. */
export async function readRunningRun(
  db: Queryable,
  accountId: string,
  stream: StreamName,
): Promise<RunRow | undefined> {
  const [row] = await db
    .select()
    .from(runs)
    .where(and(eq(runs.account_id, accountId), eq(runs.stream, stream), eq(runs.status, 'running')))
    .orderBy(desc(runs.run_id))
    .limit(1);
  return row;
}
