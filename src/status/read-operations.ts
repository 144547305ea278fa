/** What an operator is shown, read so that it stays cheap however large the tables are. */
import { sql } from 'drizzle-orm';
import { type Clock, systemClock } from '../shared/time.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { IssueKind, StreamName } from '../streams/stream.ts';
import type { Connection, Queryable } from '../database/connection.ts';
import { readMigrationStatus } from '../database/migrate.ts';
import { tellDeadRuns } from '../database/dead-runs.ts';
import { type RunRow, TOOK_PLACE, toRunRow } from '../database/runs.ts';

/** Runs per stream that are read: the length of the charts. */
export const RECENT_RUNS = 30;
/** Open issues beyond this many are not counted one by one. */
export const MOST_ISSUES = 20_000;

export interface StateRow {
  readonly stream: StreamName;
  readonly lastSuccessAt: string | null;
  readonly watermark: string | null;
  readonly calculatedAt: string | null;
  /** Up to when the service itself would answer the same: the cache of the training calculation. */
  readonly currentUntil: string | null;
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
  /** When the reading began, by the database's clock, ms: everything was read then or later. */
  readonly databaseNowMs: number;
  /** The same moment by our clock. */
  readonly readAtMs: number;
  readonly pendingMigrations: number;
  readonly states: readonly StateRow[];
  /** Newest first. */
  readonly runs: readonly RunRow[];
  readonly issues: readonly IssueGroup[];
  readonly slices: readonly SliceProgress[];
}

/** Of a row of `stream_state`. */
export const CURRENT_UNTIL = `checked_at_database + fresh_for_ms * interval '1 millisecond'`;

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
        select * from safety_sync.runs r where account_id = ${accountId} and stream = s.stream and ${TOOK_PLACE}
        order by run_id desc limit ${RECENT_RUNS}) l
      union
      select * from safety_sync.runs where account_id = ${accountId} and status = 'running'
    ) r order by r.run_id desc`);
  return await tellDeadRuns(db, rows.map(toRunRow));
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
export async function readDatabaseState(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  { now }: Pick<Clock, 'now'>,
) {
  const [clock] = await db.execute<{ now: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const readAtMs = now();
  const { pending } = await readMigrationStatus({ query });
  return { databaseNowMs: Number(clock?.now), readAtMs, pendingMigrations: pending };
}

/** Everything of one account; a few milliseconds whatever the size of the tables. */
export async function readOperations(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountId: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Operations> {
  const database = await readDatabaseState({ db, query }, clock);
  if (database.pendingMigrations > 0) return { ...database, states: [], runs: [], issues: [], slices: [] };
  const states = await db.execute<{
    stream: StreamName;
    last_success_at: string | null;
    watermark: string | null;
    calculated_at: string | null;
    current_until: string | null;
  }>(sql`
    select stream, ${iso('last_success_at')} as last_success_at, ${iso('watermark')} as watermark,
      ${iso('calculated_at')} as calculated_at, ${iso(`(${CURRENT_UNTIL})`)} as current_until
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
    ...database,
    states: states.map((row) => ({
      stream: row.stream,
      lastSuccessAt: row.last_success_at,
      watermark: row.watermark,
      calculatedAt: row.calculated_at,
      currentUntil: row.current_until,
    })),
    runs: await readRecentRuns(db, accountId),
    issues: await readIssueGroups(db, accountId),
    slices: slices.map(({ done, ...row }) => ({ ...row, slicesDone: done })),
  };
}
