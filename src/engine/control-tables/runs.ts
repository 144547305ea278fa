/** Reads and writes `safety_sync.runs`. */
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { type RunKey, runs, type RunStatus, type RunTrigger, type StreamKey } from './control-tables.ts';
import type { RunKind } from '../streams/state.ts';
import type { RecordCounts } from './record-counts.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { VERSION } from '../../version.ts';

export type RunRow = typeof runs.$inferSelect;

interface NewRun extends StreamKey {
  readonly kind: RunKind;
  readonly trigger: RunTrigger;
  /** Host and process of the worker. */
  readonly owner: string;
  readonly backendPid: number;
  readonly watermark: string | null;
}

/** The requests of a run. */
interface RunRequests {
  readonly requests: number;
  readonly retries: number;
  readonly lastRequestId: string | undefined;
}

interface RunEndRow extends RunKey {
  readonly requests: RunRequests;
  /** null: those of the last commit stay. */
  readonly counts: Readonly<RecordCounts> | null;
  readonly watermark: string | null;
  readonly status: Exclude<RunStatus, 'running'>;
  /** reconcile: changes that earlier runs should have stored; null where they are unknown. */
  readonly repaired: number | null;
  readonly note: string | null;
  readonly failure: SafetySyncError | null;
}

const ERROR_MESSAGE_CHARACTERS = 2000;

/** For `update runs set`: runs whose database session ended, usually with their worker. */
export const AS_DIED =
  sql.raw(`status = 'failed', finished_at = statement_timestamp(), error_code = 'worker_died',
  error_message = 'the worker ' || owner || ', or its database session, ended without closing this run; nothing was half stored'`);

/** Runs that are still open although this session holds the stream's lock: their database sessions have ended. */
export async function closeDeadRuns(db: Queryable, { accountId, stream }: StreamKey): Promise<number> {
  const closed = await db.execute(sql`
    update ${runs} set ${AS_DIED} where account_id = ${accountId} and stream = ${stream} and status = 'running'`);
  return closed.count;
}

/** Records a run that begins. */
export async function recordRun(
  db: Queryable,
  { accountId: account_id, backendPid: backend_pid, watermark, ...run }: NewRun,
): Promise<number> {
  const row = { account_id, backend_pid, watermark_before: watermark, program_version: VERSION };
  const [recorded] = await db
    .insert(runs)
    .values({ ...run, ...row, status: 'running' })
    .returning({ run_id: runs.run_id });
  return recorded?.run_id ?? 0;
}

const isRun = ({ accountId, runId }: RunKey) => and(eq(runs.account_id, accountId), eq(runs.run_id, runId));

/** Removes a scheduled run without requests; part of the transaction that ends it. */
export async function removeRun(db: Queryable, run: RunKey): Promise<void> {
  await db.delete(runs).where(isRun(run));
}

function countColumns(
  counts: Readonly<RecordCounts> | null,
  { requests, retries, lastRequestId = '' }: RunRequests,
) {
  const { read: records_read, ...others } = counts ?? {};
  return { requests, retries, request_id: lastRequestId || null, ...others, ...(counts && { records_read }) };
}

/** Counters of a running run, in the transaction that stored the counted records. */
export async function updateRunCounts(
  db: Queryable,
  run: RunKey,
  counts: Readonly<RecordCounts>,
  requests: RunRequests,
): Promise<void> {
  await db.update(runs).set(countColumns(counts, requests)).where(isRun(run));
}

/** Closes a run, in the transaction that stored its data; or one that failed and stored nothing since its last commit. */
export async function finishRun(db: Queryable, end: RunEndRow): Promise<void> {
  const { counts, requests, failure, status, repaired, note, watermark } = end;
  const columns = countColumns(counts, requests);
  await db
    .update(runs)
    .set({
      ...columns,
      ...{ status, repaired, note },
      finished_at: sql`statement_timestamp()`,
      watermark_after: watermark,
      error_code: failure?.code ?? null,
      error_message: failure?.message.slice(0, ERROR_MESSAGE_CHARACTERS) ?? null,
      request_id: failure?.requestId ?? columns.request_id,
    })
    // If the reply to a commit was lost, the run may be closed already.
    .where(and(isRun(end), eq(runs.status, 'running')));
}

/** Whether such a run began recently, by the database's clock, which all workers share, and was not interrupted. */
export async function hasRecentRun(
  db: Queryable,
  { accountId, stream, kind, withinMs }: StreamKey & { kind: RunKind; withinMs: number },
) {
  const rows = await db.execute(sql`
    select run_id from ${runs} where account_id = ${accountId} and stream = ${stream} and kind = ${kind}
      and status in ('succeeded', 'failed') and coalesce(error_code, '') not in ('worker_died', 'interrupted', 'lock_lost')
      and started_at > statement_timestamp() - make_interval(secs => ${withinMs / 1000}::float8) limit 1`);
  return rows.length > 0;
}

interface RunFilter {
  readonly accountIds: readonly string[];
  readonly stream?: StreamName | undefined;
  readonly limit: number;
}

/** A row of a statement that drizzle did not make, with its columns as drizzle reads them: `bigint` comes as text. */
const toRunRow = (row: Readonly<Record<string, unknown>>): RunRow =>
  Object.fromEntries(
    Object.entries(getTableColumns(runs)).map(([name, column]) => [
      name,
      row[name] == null ? null : column.mapFromDriverValue(row[name]),
    ]),
  ) as RunRow;

/**
 * Runs `r` that took place. A tick that found the stream locked by another worker is recorded as skipped, without a
 * session. It gives no information about the stream, and must not hide the result of the last real run.
 */
const TOOK_PLACE = sql.raw(`not (r.status = 'skipped' and r.backend_pid is null)`);

/**
 * Every stream that ever began a run has its row there. Runs are looked up from it, stream by stream, because
 * a list in the statement itself could not be joined this way where accounts are distributed.
 */
const KNOWN_STREAMS = sql.raw('safety_sync.stream_state');

/**
 * Newest first. Each account is read by its own index, because the newest runs of an account without recent
 * runs are far back.
 */
export async function readRuns(db: Queryable, filter: RunFilter): Promise<RunRow[]> {
  const ofStream = filter.stream === undefined ? sql`` : sql`and r.stream = ${filter.stream}`;
  const rows = await db.execute(sql`
    select l.* from (
      select distinct account_id from ${KNOWN_STREAMS} k where account_id = any (${toArrayLiteral(filter.accountIds)}::text[])
    ) a cross join lateral (
      select * from ${runs} r where r.account_id = a.account_id ${ofStream}
      order by r.run_id desc limit ${filter.limit}) l
    order by l.run_id desc limit ${filter.limit}`);
  return rows.map(toRunRow);
}

/** For each stream of these accounts (an array literal): columns of the newest runs `r` that meet the condition. */
export const newestRuns = (columns: SQL, condition: SQL, accounts: string, limit = 1): SQL => sql`
  select k.account_id, k.stream, l.* from ${KNOWN_STREAMS} k cross join lateral (
    select ${columns} from ${runs} r where r.account_id = k.account_id and r.stream = k.stream and ${condition}
    order by r.run_id desc limit ${limit}) l
  where k.account_id = any (${accounts}::text[])`;

/** The newest run `r` of each stream of each account that meets the condition; default: that took place. */
export async function readLastRuns(
  db: Queryable,
  accountIds: readonly string[],
  condition = TOOK_PLACE,
): Promise<RunRow[]> {
  const rows = await db.execute(newestRuns(sql`r.*`, condition, toArrayLiteral(accountIds)));
  return rows.map(toRunRow);
}

/** For a run that waits for the lock of the stream. */
export async function describeOpenRun(db: Queryable, { accountId, stream }: StreamKey): Promise<string> {
  const [run] = await readLastRuns(db, [accountId], sql`r.status = 'running' and r.stream = ${stream}`);
  return run === undefined ? 'another run' : `run ${run.run_id} (${run.kind}, ${run.owner})`;
}
