/**
 * Removes rows after their retention period. Part of a run that holds the stream's lock: only one of several workers does it,
 * and no other stores rows of the stream meanwhile. Each transaction is short.
 */
import { type SQL, sql } from 'drizzle-orm';
import { DAY_MS } from '../../shared/time.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { isGone, keyColumn, timestampLiteral } from '../database/sql-names.ts';
import { type StreamShape, tableShape } from '../database/table-shape.ts';

/** Days; undefined: kept for ever. */
export interface Retention {
  /** Rows that the source deleted, but for people and names, with their children, states and resolved data issues. */
  readonly deletedDays?: number | undefined;
  readonly runsDays?: number | undefined;
  /** Resolved data issues. */
  readonly issuesDays?: number | undefined;
}

export type Removed = Readonly<Record<'rows' | 'runs' | 'issues', number>>;

export const NOTHING_REMOVED: Removed = { rows: 0, runs: 0, issues: 0 };

/** Rows of a transaction. */
const ROWS_AT_ONCE = 500;

interface RetentionRequest {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly retention: Retention;
  readonly signal: AbortSignal;
}

/**
 * A row with its states and issues; its children are deleted by their foreign keys. Rows that the service still sends
 * as deleted stay.
 */
function removeRows({ shape: { parent, stream }, accountId }: RetentionRequest, before: SQL): SQL {
  const key = keyColumn(parent);
  const ofExpired = (column: SQL) =>
    sql`account_id = ${accountId} and ${column} in (select key from expired)`;
  const states = stream.histories.map((history, at) => {
    const shape = tableShape(history.states);
    return sql`${sql.raw(`states_${at}`)} as (delete from ${shape.table} where ${ofExpired(keyColumn(shape))}),`;
  });
  return sql`with expired as materialized (
      select ${key} as key from ${parent.table} t where account_id = ${accountId} and ${isGone(parent)} and _deleted_at < ${before} limit ${ROWS_AT_ONCE}
    ), ${sql.join(states)} issues as (
      delete from safety_sync.data_issues where ${ofExpired(sql`record_id`)} and stream = ${stream.name} and resolved_at is not null
    ) delete from ${parent.table} where ${ofExpired(key)}`;
}

/**
 * The newest run of a stream for each kind and status, with or without requests and a session, is kept at any age, because
 * other code reads it.
 */
function removeRuns(ofStream: SQL, before: SQL): SQL {
  return sql`delete from safety_sync.runs where ${ofStream} and run_id in (
    select run_id from safety_sync.runs where ${ofStream} and finished_at < ${before} and status <> 'running'
      and run_id not in (select max(run_id) from safety_sync.runs where ${ofStream}
        group by kind, status, requests > 0, backend_pid is null)
    order by run_id limit ${ROWS_AT_ONCE}::int)`;
}

function removeIssues(ofStream: SQL, before: SQL): SQL {
  return sql`delete from safety_sync.data_issues where ${ofStream} and fingerprint in (
    select fingerprint from safety_sync.data_issues where ${ofStream} and resolved_at < ${before} limit ${ROWS_AT_ONCE}::int)`;
}

/** At most once a day for each stream; what a stop leaves is removed by the next run. */
export async function removeExpired(request: RetentionRequest): Promise<Removed> {
  const { session, shape, accountId, retention, signal } = request;
  const { db } = session.connection;
  const { deletedDays, runsDays, issuesDays } = retention;
  if (Object.values(retention).every((days) => days === undefined)) return NOTHING_REMOVED;
  const ofStream = sql`account_id = ${accountId} and stream = ${shape.stream.name}`;
  // A time in the future is from before the clock of the database was put back.
  const [due] = await db.execute<{ nowMs: number }>(sql`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from safety_sync.stream_state
    where ${ofStream} and (retained_at between clock_timestamp() - interval '1 day' and clock_timestamp()) is not true`);
  if (due === undefined) return NOTHING_REMOVED;
  const { nowMs } = due;
  /** Citus cannot subtract days from a time where it writes. */
  const before = (days: number): SQL => timestampLiteral(nowMs - days * DAY_MS);
  async function repeat(days: number | undefined, toStatement: (before: SQL) => SQL): Promise<number> {
    let removed = 0;
    if (days === undefined) return removed;
    for (let last = ROWS_AT_ONCE; last === ROWS_AT_ONCE && !signal.aborted; removed += last) {
      await session.begin();
      last = (await db.execute(toStatement(before(days)))).count;
      await session.commit();
    }
    return removed;
  }
  // Rows of other streams show the names of these.
  const isOfNames = ['people', 'names'].includes(shape.stream.readMode.kind);
  const removed = {
    rows: isOfNames ? 0 : await repeat(deletedDays, (time) => removeRows(request, time)),
    runs: await repeat(runsDays, (time) => removeRuns(ofStream, time)),
    issues: await repeat(issuesDays, (time) => removeIssues(ofStream, time)),
  };
  if (!signal.aborted)
    await db.execute(
      sql`update safety_sync.stream_state set retained_at = ${timestampLiteral(nowMs)} where ${ofStream}`,
    );
  return removed;
}
