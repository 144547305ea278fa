/** What an operator is shown, read so that it stays cheap however large the tables are. */
import { sql } from 'drizzle-orm';
import { STREAM_NAMES } from '../streams/index.ts';
import type { IssueKind, StreamName } from '../streams/stream.ts';
import type { Connection, Queryable } from './connection.ts';
import { readMigrationStatus } from './migrate.ts';
import { type RunRow, toRunRow } from './runs.ts';

/** Runs per stream that are read: the length of the charts. */
export const RECENT_RUNS = 30;
/** Open issues beyond this many are not counted one by one. */
export const MOST_ISSUES = 20_000;

export interface StateRow {
  readonly stream: StreamName;
  readonly lastSuccessAt: string | null;
  readonly watermark: string | null;
  readonly calculatedAt: string | null;
}

/** Open issues of one kind and field. */
export interface IssueGroup {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  /** Of one of them. */
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

export interface Operations {
  /** The database's clock, ms. */
  readonly databaseNowMs: number;
  readonly pendingMigrations: number;
  readonly states: readonly StateRow[];
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
  // The second part: a long run that many short ones have followed. The index of running ones makes it free.
  const rows = await db.execute(sql`
    select r.*, ${iso('r.started_at')} as started_at, ${iso('r.finished_at')} as finished_at
    from (
      select l.* from (values ${streams}) as s (stream) cross join lateral (
        select * from safety_sync.runs where account_id = ${accountId} and stream = s.stream
        order by run_id desc limit ${RECENT_RUNS}) l
      union
      select * from safety_sync.runs where account_id = ${accountId} and status = 'running'
    ) r order by r.run_id desc`);
  return rows.map(toRunRow);
}

async function readIssueGroups(db: Queryable, accountId: string): Promise<IssueGroup[]> {
  const rows = await db.execute<{
    stream: StreamName;
    kind: IssueKind;
    field: string | null;
    count: number;
    problem: string;
    first_seen_at: string;
  }>(sql`
    select stream, kind, field, count(*)::int as count, min(problem) as problem,
      ${iso('min(first_seen_at)')} as first_seen_at
    from (
      select stream, kind, field, problem, first_seen_at from safety_sync.data_issues
      where account_id = ${accountId} and resolved_at is null limit ${MOST_ISSUES}) open
    group by stream, kind, field order by count(*) desc, stream, field`);
  return rows.map(({ first_seen_at: firstSeenAt, ...row }) => ({ ...row, firstSeenAt }));
}

/** What is the same for all accounts. */
export async function readDatabaseState({ db, query }: Pick<Connection, 'db' | 'query'>) {
  const { pending } = await readMigrationStatus({ query });
  const [clock] = await db.execute<{ now: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  return { databaseNowMs: Number(clock?.now), pendingMigrations: pending };
}

/** Everything of one account; a few milliseconds whatever the size of the tables. */
export async function readOperations(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountId: string,
): Promise<Operations> {
  const { databaseNowMs, pendingMigrations } = await readDatabaseState({ db, query });
  if (pendingMigrations > 0) {
    return { databaseNowMs, pendingMigrations, states: [], runs: [], issues: [], slices: [] };
  }
  const states = await db.execute<{
    stream: StreamName;
    last_success_at: string | null;
    watermark: string | null;
    calculated_at: string | null;
  }>(sql`
    select stream, ${iso('last_success_at')} as last_success_at, ${iso('watermark')} as watermark,
      ${iso('calculated_at')} as calculated_at
    from safety_sync.stream_state where account_id = ${accountId}`);
  const slices = await db.execute<{
    stream: StreamName;
    slices: number;
    done: number;
    records: number;
    expected: number | null;
  }>(sql`
    select stream, count(*)::int as slices, count(*) filter (where status = 'done')::int as done,
      sum(records)::float8 as records, sum(expected)::float8 as expected
    from safety_sync.backfill_slices where account_id = ${accountId} group by stream`);
  return {
    databaseNowMs,
    pendingMigrations: 0,
    states: states.map((row) => ({
      stream: row.stream,
      lastSuccessAt: row.last_success_at,
      watermark: row.watermark,
      calculatedAt: row.calculated_at,
    })),
    runs: await readRecentRuns(db, accountId),
    issues: await readIssueGroups(db, accountId),
    slices: slices.map(({ done, ...row }) => ({ ...row, slicesDone: done })),
  };
}
