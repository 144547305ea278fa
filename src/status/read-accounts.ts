/** What an operator of many accounts is shown: a line of each, read in a few statements however many there are. */
import { sql } from 'drizzle-orm';
import { type Clock, systemClock } from '../shared/time.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Connection, Queryable } from '../database/connection.ts';
import type { RunStatus } from '../database/control-tables.ts';
import { toArrayLiteral } from '../database/copy-text.ts';
import { findDeadRuns } from '../database/dead-runs.ts';
import { CURRENT_UNTIL, readDatabaseState } from './read-operations.ts';
import { TOOK_PLACE } from '../database/runs.ts';

export interface StreamSight {
  readonly stream: StreamName;
  /** ms since 1970; null: never. */
  readonly lastSuccessMs: number | null;
  readonly watermarkMs: number | null;
  readonly calculatedMs: number | null;
  /** Up to when the service itself would answer the same. */
  readonly currentUntilMs: number | null;
  readonly lastStatus: Exclude<RunStatus, 'running'> | null;
  readonly lastErrorCode: string | null;
  readonly isRunning: boolean;
  readonly openIssues: number;
}

export interface AccountsSight {
  /** When the reading began, by the database's clock, ms: everything was read then or later. */
  readonly databaseNowMs: number;
  /** The same moment by our clock. */
  readonly readAtMs: number;
  readonly pendingMigrations: number;
  /** Accounts of which nothing is known yet are absent. */
  readonly accounts: ReadonlyMap<string, readonly StreamSight[]>;
}

interface StreamRow extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly last_success_ms: number | null;
  readonly watermark_ms: number | null;
  readonly calculated_ms: number | null;
  readonly current_until_ms: number | null;
  readonly last_status: Exclude<RunStatus, 'running'> | null;
  readonly last_error_code: string | null;
}

const ms = (column: string) => sql.raw(`(extract(epoch from ${column}) * 1000)::float8`);

/** Of every stream that was ever run: its state, and how its newest run ended. */
async function readStreams(db: Queryable, accounts: string): Promise<Iterable<StreamRow>> {
  return await db.execute<StreamRow>(sql`
    select a.account_id, s.stream, ${ms('t.last_success_at')} as last_success_ms,
      ${ms('t.watermark')} as watermark_ms, ${ms('t.calculated_at')} as calculated_ms,
      ${ms(`(${CURRENT_UNTIL})`)} as current_until_ms,
      l.status as last_status, l.error_code as last_error_code
    from unnest(${accounts}::text[]) as a (account_id)
    cross join unnest(${toArrayLiteral(STREAM_NAMES)}::text[]) as s (stream)
    left join safety_sync.stream_state t on t.account_id = a.account_id and t.stream = s.stream
    left join lateral (
      select r.status, r.error_code from safety_sync.runs r
      where r.account_id = a.account_id and r.stream = s.stream and r.status <> 'running' and ${TOOK_PLACE}
      order by r.run_id desc limit 1) l on true
    where t.account_id is not null or l.status is not null`);
}

interface Counted extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly count: number;
}

const keyOf = ({ account_id, stream }: Pick<Counted, 'account_id' | 'stream'>) => `${stream} ${account_id}`;

async function countIssues(db: Queryable, accounts: string) {
  const rows = await db.execute<Counted>(sql`
    select account_id, stream, count(*)::int as count from safety_sync.data_issues
    where resolved_at is null and account_id = any (${accounts}::text[]) group by account_id, stream`);
  return new Map([...rows].map((row) => [keyOf(row), row]));
}

interface OpenRun extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly run_id: number;
}

/** Of each stream the run that is open, and whether its worker is dead. */
async function readOpenRuns(db: Queryable, accounts: string) {
  const rows = await db.execute<OpenRun>(sql`
    select account_id, stream, run_id::float8 as run_id from safety_sync.runs
    where status = 'running' and account_id = any (${accounts}::text[]) order by run_id`);
  const open = [...rows];
  const dead = await findDeadRuns(db, open);
  return new Map(open.map((row) => [keyOf(row), { ...row, isDead: dead.has(row.run_id) }]));
}

export async function readAccounts(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountIds: readonly string[],
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<AccountsSight> {
  const database = await readDatabaseState({ db, query }, clock);
  if (database.pendingMigrations > 0) return { ...database, accounts: new Map() };
  const list = toArrayLiteral(accountIds);
  const open = await readOpenRuns(db, list);
  const issues = await countIssues(db, list);
  const accounts = new Map<string, StreamSight[]>();
  const add = (row: Pick<Counted, 'account_id' | 'stream'> & Partial<StreamRow>): void => {
    const run = open.get(keyOf(row));
    const isDead = run?.isDead === true;
    const sight: StreamSight = {
      stream: row.stream,
      lastSuccessMs: row.last_success_ms ?? null,
      watermarkMs: row.watermark_ms ?? null,
      calculatedMs: row.calculated_ms ?? null,
      currentUntilMs: row.current_until_ms ?? null,
      // Every later run would have closed the dead one: it is the last.
      lastStatus: isDead ? 'failed' : (row.last_status ?? null),
      lastErrorCode: isDead ? 'worker_died' : (row.last_error_code ?? null),
      isRunning: run !== undefined && !isDead,
      openIssues: issues.get(keyOf(row))?.count ?? 0,
    };
    const before = accounts.get(row.account_id);
    if (before === undefined) accounts.set(row.account_id, [sight]);
    else before.push(sight);
  };
  const seen = new Set<string>();
  for (const row of await readStreams(db, list)) {
    seen.add(keyOf(row));
    add(row);
  }
  // The very first run of a stream has neither a state nor an end.
  for (const [key, row] of open) if (!seen.has(key)) add(row);
  return { ...database, accounts };
}
