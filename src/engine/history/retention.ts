/**
 * Removes rows after their retention period. Part of a run that holds the stream's lock: only one of several
 * workers does it, and no other stores rows of the stream meanwhile. Each transaction is short.
 */
import { type SQL, sql } from 'drizzle-orm';
import { DAY_MS, SECOND_MS } from '../../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { finishDays } from './followup-days.ts';
import { keyColumn, target } from '../database/sql-names.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { type StreamShape, tableShape } from '../database/table-shape.ts';

/** Days; undefined: kept for ever. */
export interface Retention {
  /** Rows that the source deleted, with their children, states and resolved data issues. */
  readonly deletedDays?: number | undefined;
  readonly runsDays?: number | undefined;
  /** Resolved data issues. */
  readonly issuesDays?: number | undefined;
}

export interface Removed {
  readonly rows: number;
  readonly runs: number;
  readonly issues: number;
}

export const NOTHING_REMOVED: Removed = { rows: 0, runs: 0, issues: 0 };

/** Once a day is enough for periods in days. */
const EVERY_MS = DAY_MS;
/** Rows of a transaction. */
const ROWS_AT_ONCE = 500;
/** Rows of a day: more than fit into its time. */
const MOST_ROWS = 100_000;
/** The stream's next run removes the rest: another session may wait for the lock. */
const MOST_MS = 10 * SECOND_MS;

interface RetentionScope {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
}

interface RetentionRequest extends RetentionScope {
  readonly retention: Retention;
  readonly signal: AbortSignal;
  readonly monotonicMs: () => number;
}

type Cutoffs = Readonly<Record<'now', string> & Record<'deleted' | 'runs' | 'issues', string | null>>;

/**
 * By the database's clock, and as values: Citus cannot subtract days from a time where it writes. undefined: the day of the
 * last removal is not over. A removal in the future is from before the clock was put back.
 */
async function readCutoffs(
  db: Queryable,
  { accountId, shape, retention }: Pick<RetentionRequest, 'accountId' | 'shape' | 'retention'>,
): Promise<Cutoffs | undefined> {
  const before = (days: number | undefined): SQL =>
    sql`(c.now - make_interval(days => ${days ?? null}::int))::text`;
  const [row] = await db.execute<Cutoffs>(sql`
    select c.now::text as now, ${before(retention.deletedDays)} as deleted, ${before(retention.runsDays)} as runs,
      ${before(retention.issuesDays)} as issues
    from (select clock_timestamp() as now) c, safety_sync.stream_state s
    where s.account_id = ${accountId} and s.stream = ${shape.stream.name}
      and (s.retained_at is null or s.retained_at > c.now
        or s.retained_at < c.now - make_interval(secs => ${EVERY_MS / SECOND_MS}))`);
  return row;
}

async function inTransaction(session: StreamSession, statements: readonly SQL[]): Promise<number> {
  const { db } = session.connection;
  await session.begin();
  let count = 0;
  for (const statement of statements) count = (await db.execute(statement)).count;
  await session.commit({ isDurable: true });
  return count;
}

/** A row with all dependent rows; its children are deleted by their foreign keys. */
async function removeRows(
  { session, shape, accountId }: RetentionScope,
  before: string,
  goesOn: () => boolean,
): Promise<number> {
  const { parent, stream } = shape;
  const key = keyColumn(parent);
  const { db } = session.connection;
  const expired = await db.execute<{ key: string }>(sql`
    select ${key} as key from ${target(parent)} where account_id = ${accountId} and _deleted_at < ${before}::timestamptz
    limit ${MOST_ROWS}`);
  if (expired.length === 0) return 0;
  if (stream.countsDays === true && !(await finishDays(db, accountId, before))) return 0;
  const histories = stream.histories.map(({ states }) => tableShape(states));
  let removed = 0;
  for (let at = 0; at < expired.length && goesOn(); at += ROWS_AT_ONCE) {
    const keys = toArrayLiteral(expired.slice(at, at + ROWS_AT_ONCE).map((row) => row.key));
    removed += await inTransaction(session, [
      ...histories.map(
        (states) => sql`delete from ${target(states)}
          where account_id = ${accountId} and ${keyColumn(states)} = any (${keys}::text[])`,
      ),
      sql`delete from safety_sync.data_issues where account_id = ${accountId} and stream = ${stream.name}
        and record_id = any (${keys}::text[]) and resolved_at is not null`,
      sql`delete from ${target(parent)} where account_id = ${accountId} and ${key} = any (${keys}::text[])
        and _deleted_at < ${before}::timestamptz`,
    ]);
  }
  return removed;
}

/** Repeats one statement until it finds fewer rows than it may remove. */
async function removeRepeatedly(
  session: StreamSession,
  statement: SQL,
  goesOn: () => boolean,
): Promise<number> {
  let removed = 0;
  for (let last = ROWS_AT_ONCE; last === ROWS_AT_ONCE && goesOn(); removed += last) {
    last = await inTransaction(session, [statement]);
  }
  return removed;
}

/**
 * The newest run of a stream for each kind and status, with or without requests and a session, is kept at any
 * age, because other code reads it.
 */
function expiredRuns({ shape, accountId }: RetentionScope, before: string): SQL {
  const ofStream = sql`account_id = ${accountId} and stream = ${shape.stream.name}`;
  return sql`delete from safety_sync.runs where ${ofStream} and run_id in (
    select run_id from safety_sync.runs where ${ofStream} and finished_at < ${before}::timestamptz and status <> 'running'
      and run_id not in (select max(run_id) from safety_sync.runs where ${ofStream}
        group by kind, status, requests > 0, backend_pid is null)
    order by run_id limit ${ROWS_AT_ONCE}::int)`;
}

function expiredIssues({ shape, accountId }: RetentionScope, before: string): SQL {
  const ofStream = sql`account_id = ${accountId} and stream = ${shape.stream.name}`;
  return sql`delete from safety_sync.data_issues where ${ofStream} and fingerprint in (
    select fingerprint from safety_sync.data_issues where ${ofStream} and resolved_at < ${before}::timestamptz
    order by fingerprint limit ${ROWS_AT_ONCE}::int)`;
}

/**
 * At most once a day for each stream; rows that are left when the time is over are removed by the next run.
 */
export async function removeExpired(request: RetentionRequest): Promise<Removed> {
  const { session, retention, signal, monotonicMs } = request;
  if (Object.values(retention).every((days) => days === undefined)) return NOTHING_REMOVED;
  const { db } = session.connection;
  const cutoffs = await readCutoffs(db, request);
  if (cutoffs === undefined) return NOTHING_REMOVED;
  const { now, deleted, runs, issues } = cutoffs;
  const endMs = monotonicMs() + MOST_MS;
  const goesOn = () => !signal.aborted && monotonicMs() < endMs;
  const removed = {
    rows: deleted === null ? 0 : await removeRows(request, deleted, goesOn),
    runs: runs === null ? 0 : await removeRepeatedly(session, expiredRuns(request, runs), goesOn),
    issues: issues === null ? 0 : await removeRepeatedly(session, expiredIssues(request, issues), goesOn),
  };
  if (goesOn()) {
    await db.execute(sql`update safety_sync.stream_state set retained_at = ${now}::timestamptz
      where account_id = ${request.accountId} and stream = ${request.shape.stream.name}`);
  }
  return removed;
}
