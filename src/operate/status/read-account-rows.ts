/** Reads the rows for the page of one account, at low cost for tables of any size. */
import { sql } from 'drizzle-orm';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { IssueKind, StreamName } from '../../engine/streams/stream.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { markDeadRuns } from '../../engine/control/dead-runs.ts';
import { type RunRow, TOOK_PLACE, toRunRow } from '../../engine/control/runs.ts';

/** Runs read per stream: the length of the charts. */
export const RECENT_RUNS = 30;
/** Most open issues that are counted one by one. */
const MOST_ISSUES = 20_000;

/** Open issues of one kind and field. */
export interface IssueGroup {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  /** One example of them. */
  readonly problem: string;
  readonly firstSeenAt: string;
}

export interface SliceProgress {
  readonly stream: StreamName;
  readonly slices: number;
  readonly slicesDone: number;
  readonly records: number;
  readonly expected: number | null;
}

export interface AccountRows {
  /** Newest first. */
  readonly runs: readonly RunRow[];
  readonly issues: readonly IssueGroup[];
  readonly slices: readonly SliceProgress[];
}

const iso = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);

async function readRecentRuns(db: Queryable, accountId: string): Promise<RunRow[]> {
  const streams = sql.join(
    STREAM_NAMES.map((stream) => sql`(${stream})`),
    sql`, `,
  );
  // The second select finds a long run that many short ones have followed; its index covers running runs only.
  const rows = await db.execute(sql`
    select r.*, ${iso('r.started_at')} as started_at, ${iso('r.finished_at')} as finished_at
    from (
      select l.* from (values ${streams}) as s (stream) cross join lateral (
        select * from safety_sync.runs r where account_id = ${accountId} and stream = s.stream and ${TOOK_PLACE}
        order by run_id desc limit ${RECENT_RUNS}) l
      union
      select * from safety_sync.runs where account_id = ${accountId} and status = 'running'
    ) r order by r.run_id desc`);
  return await markDeadRuns(db, rows.map(toRunRow));
}

async function readIssueGroups(db: Queryable, accountId: string): Promise<IssueGroup[]> {
  const rows = await db.execute<Omit<IssueGroup, 'firstSeenAt'> & { first_seen_at: string }>(sql`
    select stream, kind, field, count(*)::int as count, min(problem) as problem,
      ${iso('min(first_seen_at)')} as first_seen_at
    from (
      select stream, kind, field, problem, first_seen_at from safety_sync.data_issues
      where account_id = ${accountId} and resolved_at is null limit ${MOST_ISSUES}) open
    group by stream, kind, field order by count(*) desc, stream, field`);
  return rows.map(({ first_seen_at: firstSeenAt, ...row }) => ({ ...row, firstSeenAt }));
}

async function readSlices(db: Queryable, accountId: string): Promise<SliceProgress[]> {
  const rows = await db.execute<Omit<SliceProgress, 'slicesDone'> & { done: number }>(sql`
    select stream, count(*)::int as slices, count(*) filter (where status = 'done' or failures > 0)::int as done,
      sum(records)::float8 as records, sum(expected)::float8 as expected
    from safety_sync.backfill_slices where account_id = ${accountId} group by stream`);
  return rows.map(({ done, ...row }) => ({ ...row, slicesDone: done }));
}

/** Takes a few milliseconds for tables of any size. */
export async function readAccountRows(db: Queryable, accountId: string): Promise<AccountRows> {
  return {
    slices: await readSlices(db, accountId),
    runs: await readRecentRuns(db, accountId),
    issues: await readIssueGroups(db, accountId),
  };
}
