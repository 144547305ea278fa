/** Reads and writes `safety_sync.runs`. */
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { isOf, type RunKey, runs, type RunStatus, type StreamKey } from './control-tables.ts';
import type { RunKind } from '../streams/state.ts';
import type { RecordCounts } from './record-counts.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { VERSION } from '../../version.ts';

export type RunRow = typeof runs.$inferSelect;

/** For `update runs set`: runs whose database session ended, usually with their worker. */
const AS_DIED = sql.raw(`status = 'failed', finished_at = statement_timestamp(), error_code = 'worker_died',
  error_message = 'the worker ' || owner || ', or its database session, ended without closing this run; nothing was half stored'`);

/** Runs that are still open although this session holds the stream's lock: their database sessions have ended. */
export async function closeDeadRuns(db: Queryable, key: StreamKey): Promise<number> {
  const closed = await db.execute(sql`
    update ${runs} set ${AS_DIED} where ${isOf(key)} and status = 'running'`);
  return closed.count;
}

/**
 * Open runs of these accounts whose session ended. A run begins after its session, and closes its record before it, so a record
 * from before the list of backends that still says `running` after it is of a dead run if its backend is not in the list. A
 * standby cannot see the backends of its primary, so it shows none; the nodes of a cluster cannot either, so the list is a
 * statement of its own.
 */
export async function findDeadRuns(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ReadonlySet<number>> {
  const [seen] = await db.execute<{ at: string; pids: string | null }>(sql`
    select statement_timestamp()::text as at, array_agg(pid)::text as pids from pg_stat_activity where not pg_is_in_recovery()`);
  const dead = await db.execute<{ run_id: string }>(sql`
    select run_id from ${runs} where account_id = any (${toArrayLiteral(accountIds)}::text[]) and status = 'running'
      and started_at < ${seen?.at}::timestamptz and backend_pid <> all (${seen?.pids ?? null}::int[])`);
  return new Set(dead.map((row) => Number(row.run_id)));
}

/** Closes the runs of workers that died. */
export async function closeAllDeadRuns(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Pick<RunRow, 'account_id' | 'stream'>[]> {
  const dead = toArrayLiteral([...(await findDeadRuns(db, accountIds))]);
  return await db.execute<Pick<RunRow, 'account_id' | 'stream'>>(sql`
    update ${runs} set ${AS_DIED} where account_id = any (${toArrayLiteral(accountIds)}::text[])
      and run_id = any (${dead}::bigint[]) and status = 'running' returning account_id, stream`);
}

/** Records a run that begins. */
export async function recordRun(
  db: Queryable,
  run: Omit<typeof runs.$inferInsert, 'status' | 'program_version'>,
): Promise<number> {
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

interface RunProgress {
  /** null: those of the last commit stay. */
  readonly counts: Readonly<RecordCounts> | null;
  readonly meter: Pick<RunRow, 'requests' | 'retries'> & { readonly lastRequestId: string | undefined };
  /** Absent: the run goes on. */
  readonly end?: Pick<RunRow, 'repaired' | 'note' | 'watermark_after'> & {
    readonly status: Exclude<RunStatus, 'running'>;
    readonly failure: SafetySyncError | null;
  };
}

const ERROR_MESSAGE_CHARACTERS = 2000;

/**
 * Writes counters of an open run, in the transaction that stored the counted records; with an `end`, closes it: in the
 * transaction that stored its data, or, if it failed, after its last commit.
 */
export async function updateRun(db: Queryable, run: RunKey, progress: RunProgress): Promise<void> {
  const { read: records_read, ...counts } = progress.counts ?? {};
  const { requests, retries, lastRequestId = null } = progress.meter;
  const { failure, ...end } = progress.end ?? { failure: null };
  await db
    .update(runs)
    .set({
      ...{ requests, retries, records_read, ...counts, ...end },
      request_id: failure?.requestId ?? lastRequestId,
      error_code: failure?.code ?? null,
      error_message: failure?.message.slice(0, ERROR_MESSAGE_CHARACTERS) ?? null,
      finished_at: progress.end && sql`statement_timestamp()`,
    })
    // If the reply to a commit was lost, the run may be closed already.
    .where(isOpen(run));
}

/** Whether such a run began recently, by the database's clock, which all workers share, and was not interrupted. */
export async function hasRecentRun(
  db: Queryable,
  { kind, withinMs, ...key }: StreamKey & { kind: RunKind; withinMs: number },
) {
  const rows = await db.execute(sql`
    select run_id from ${runs} where ${isOf(key)} and kind = ${kind}
      and status in ('succeeded', 'failed') and coalesce(error_code, '') not in ('worker_died', 'interrupted', 'lock_lost')
      and started_at > statement_timestamp() - make_interval(secs => ${withinMs / 1000}::float8) limit 1`);
  return rows.length > 0;
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
 * Every stream that ever began a run has its row there. Runs are looked up from it, stream by stream, because
 * a list in the statement itself could not be joined this way where accounts are distributed.
 */
const KNOWN_STREAMS = sql.raw('safety_sync.stream_state');

/** Dead runs have the status that they will be closed with. */
async function toRunRows(
  db: Queryable,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<RunRow[]> {
  const read = rows.map(toRunRow);
  const open = read.filter(({ status }) => status === 'running').map((run) => run.account_id);
  const dead = open.length === 0 ? new Set<number>() : await findDeadRuns(db, open);
  const error_message = 'its worker, or its database session, ended without closing this run';
  return read.map((row) =>
    dead.has(row.run_id) ? { ...row, status: 'failed', error_code: 'worker_died', error_message } : row,
  );
}

/**
 * Newest first. Each account is read by its own index, because the newest runs of an account without recent
 * runs are far back.
 */
export async function readRuns(
  db: Queryable,
  {
    accountIds,
    stream,
    limit,
  }: {
    readonly accountIds: readonly string[];
    readonly stream?: StreamName | undefined;
    readonly limit: number;
  },
): Promise<RunRow[]> {
  const ofStream = stream === undefined ? sql`` : sql`and r.stream = ${stream}`;
  const rows = await db.execute(sql`
    select l.* from (
      select distinct account_id from ${KNOWN_STREAMS} k where account_id = any (${toArrayLiteral(accountIds)}::text[])
    ) a cross join lateral (
      select * from ${runs} r where r.account_id = a.account_id ${ofStream}
      order by r.run_id desc limit ${limit}) l
    order by l.run_id desc limit ${limit}`);
  return await toRunRows(db, rows);
}

/** For each stream of these accounts (an array literal): columns of the newest runs `r` that meet the condition. */
export const newestRuns = (columns: SQL, condition: SQL, accounts: string, limit = 1): SQL => sql`
  select k.account_id, k.stream, l.* from ${KNOWN_STREAMS} k cross join lateral (
    select ${columns} from ${runs} r where r.account_id = k.account_id and r.stream = k.stream and ${condition}
    order by r.run_id desc limit ${limit}) l
  where k.account_id = any (${accounts}::text[])`;

/** The newest run `r` of each stream of each account. */
export async function readLastRuns(db: Queryable, accountIds: readonly string[]): Promise<RunRow[]> {
  const rows = await db.execute(newestRuns(sql`r.*`, sql`true`, toArrayLiteral(accountIds)));
  return await toRunRows(db, rows);
}

/** For a run that waits for the lock of the stream. */
export async function describeOpenRun(db: Queryable, key: StreamKey): Promise<string> {
  const [run] = await db.execute<{ said: string }>(sql`
    select format('run %s (%s, %s)', run_id, kind, owner) as said from ${runs}
    where ${isOf(key)} and status = 'running' order by run_id desc limit 1`);
  return run?.said ?? 'another run';
}
