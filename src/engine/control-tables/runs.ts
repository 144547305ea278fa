/** Reads and writes `safety_sync.runs`. */
import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { isOf, type RunKey, runs, type StreamKey, streamState } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { VERSION } from '../../version.ts';

export type RunRow = typeof runs.$inferSelect;

/**
 * The result of a run, in records (children are not counted). read = inserted + updated + unchanged + rejected, and those of
 * the deleted ones that the service sends as deleted.
 */
export type RecordCounts = ReturnType<typeof noCounts>;
export const noCounts = () => ({ read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 });

export function addCounts(into: RecordCounts, more: Readonly<RecordCounts>): void {
  for (const name of Object.keys(into) as (keyof RecordCounts)[]) into[name] += more[name];
}

/** For `update runs set`: runs with an ended database session, usually because the worker ended. */
const AS_DIED = sql.raw(`status = 'failed', finished_at = statement_timestamp(), error_code = 'worker_died',
  error_message = 'the worker ' || owner || ', or its database session, ended without closing this run; nothing was half stored'`);

/**
 * Closes the open runs of these accounts with an ended session; called before runs are shown. A run begins after its
 * session, and closes its record before it, so a record from before the list of backends that still says `running`
 * after it is of a dead run if its backend is not in the list. A standby cannot see the backends of its primary, so
 * nothing is closed there; the nodes of a cluster cannot either, so the list is a statement of its own. A role that may
 * only read closes nothing.
 */
export async function closeDeadRuns(db: Queryable, accountIds: readonly string[]): Promise<void> {
  const [seen] = await db.execute<{ at: string; pids: string | null }>(sql`
    select statement_timestamp()::text as at, array_agg(pid)::text as pids from pg_stat_activity where not pg_is_in_recovery()`);
  const dead = sql`account_id = any (${toArrayLiteral(accountIds)}::text[]) and status = 'running'
    and started_at < ${seen?.at}::timestamptz and backend_pid <> all (${seen?.pids ?? null}::int[])`;
  const found = await db.execute(
    sql`select run_id from ${runs} where ${dead} and has_table_privilege('safety_sync.runs', 'update')`,
  );
  // Not without one: a standby refuses the statement itself.
  if (found.length > 0) await db.execute(sql`update ${runs} set ${AS_DIED} where ${dead}`);
}

/** Records a run that begins. Another one that is still open, although this session holds the stream's lock, is dead. */
export async function recordRun(
  db: Queryable,
  run: Omit<typeof runs.$inferInsert, 'status' | 'program_version'>,
): Promise<number> {
  const key = { accountId: run.account_id, stream: run.stream };
  await db.execute(sql`update ${runs} set ${AS_DIED} where ${isOf(key)} and status = 'running'`);
  const [recorded] = await db
    .insert(runs)
    .values({ ...run, status: 'running', program_version: VERSION })
    .returning({ run_id: runs.run_id });
  return recorded?.run_id ?? 0;
}

const isOpen = ({ accountId, runId }: RunKey) =>
  and(eq(runs.account_id, accountId), eq(runs.run_id, runId), eq(runs.status, 'running'));

/** Removes a scheduled run without requests; part of the transaction that ends it. */
export async function removeRun(db: Queryable, run: RunKey): Promise<void> {
  await db.delete(runs).where(isOpen(run));
}

/** How a run ended. */
export type RunEnding =
  | { readonly outcome: 'succeeded'; readonly note: string | null }
  | {
      readonly outcome: 'skipped';
      readonly reason: string;
      readonly dueInMs?: number | undefined;
      /** Another run or worker has the stream. */
      readonly isTaken?: boolean;
    }
  | { readonly outcome: 'failed'; readonly error: SafetySyncError };

interface RunProgress {
  /** null: those of the last commit stay. */
  readonly counts: Readonly<RecordCounts> | null;
  readonly meter: Pick<RunRow, 'requests' | 'retries' | 'repaired'> & {
    readonly lastRequestId: string | undefined;
  };
  /** The stream's new one; absent: it has not moved. */
  readonly watermark?: string | null;
  /** Absent: the run goes on. */
  readonly ending?: RunEnding;
}

const ERROR_MESSAGE_CHARACTERS = 2000;

/**
 * Writes counters of an open run, in the transaction that stored the counted records; with an `ending`, closes it: in the
 * transaction that stored its data, or, if it failed, after its last commit.
 */
export async function updateRun(
  db: Queryable,
  run: RunKey,
  { counts: counted, meter, watermark = null, ending }: RunProgress,
): Promise<void> {
  const { read: records_read, ...counts } = counted ?? {};
  const { requests, retries, repaired, lastRequestId = null } = meter;
  const error = ending?.outcome === 'failed' ? ending.error : null;
  const end = ending && {
    status: ending.outcome,
    finished_at: sql`statement_timestamp()`,
    watermark_after: sql`coalesce(${watermark}, ${runs.watermark_before})`,
    repaired,
    note: 'reason' in ending ? ending.reason : 'note' in ending ? ending.note : null,
  };
  await db
    .update(runs)
    .set({
      ...{ requests, retries, records_read, ...counts, ...end },
      request_id: error?.requestId ?? lastRequestId,
      error_code: error?.code ?? null,
      error_message: error?.message.slice(0, ERROR_MESSAGE_CHARACTERS) ?? null,
    })
    // If the reply to a commit was lost, the run may be closed already.
    .where(isOpen(run));
}

/**
 * For each stream of these accounts (an array literal): columns of the newest runs `r` that meet the condition. Every stream that
 * ever began a run has its row in stream_state, from which runs are looked up stream by stream, because a list in the statement
 * itself could not be joined this way where accounts are distributed.
 */
export const newestRuns = (columns: SQL, condition: SQL, accounts: string, limit = 1): SQL => sql`
  select k.account_id, k.stream, l.* from ${streamState} k cross join lateral (
    select ${columns} from ${runs} r where r.account_id = k.account_id and r.stream = k.stream and ${condition}
    order by r.run_id desc limit ${limit}) l
  where k.account_id = any (${accounts}::text[])`;

/** Newest first: so many of all streams or of one; without a limit the newest one of each stream of each account. */
export async function readRuns(
  db: Queryable,
  accountIds: readonly string[],
  { stream, limit }: { readonly stream?: StreamName | undefined; readonly limit?: number } = {},
): Promise<RunRow[]> {
  const ofStream = stream === undefined ? sql`true` : sql`r.stream = ${stream}`;
  const newest = newestRuns(sql`r.run_id`, ofStream, toArrayLiteral(accountIds), limit);
  const rows = db
    .select()
    .from(runs)
    .where(sql`(account_id, run_id) in (select n.account_id, n.run_id from (${newest}) n)`)
    .orderBy(desc(runs.run_id));
  return await (limit === undefined ? rows : rows.limit(limit));
}

/** For a run that waits for the lock of the stream. */
export async function describeOpenRun(db: Queryable, { accountId, stream }: StreamKey): Promise<string> {
  const [run] = await readRuns(db, [accountId], { stream });
  return run?.status === 'running' ? `run ${run.run_id} (${run.kind}, ${run.owner})` : 'another run';
}
