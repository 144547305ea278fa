/** What an operator of many accounts is shown: a line of each, read in a few statements however many there are. */
import { sql } from 'drizzle-orm';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Connection, Queryable } from './connection.ts';
import type { RunStatus } from './control-tables.ts';
import { readDatabaseState } from './read-operations.ts';
import { toArrayLiteral } from './copy-text.ts';

export interface StreamSight {
  readonly stream: StreamName;
  /** ms since 1970; null: never. */
  readonly lastSuccessMs: number | null;
  readonly watermarkMs: number | null;
  readonly calculatedMs: number | null;
  readonly lastStatus: Exclude<RunStatus, 'running'> | null;
  readonly lastErrorCode: string | null;
  readonly isRunning: boolean;
  readonly openIssues: number;
}

export interface AccountsSight {
  /** The database's clock, ms. */
  readonly databaseNowMs: number;
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
  readonly last_status: Exclude<RunStatus, 'running'> | null;
  readonly last_error_code: string | null;
}

const ms = (column: string) => sql.raw(`(extract(epoch from ${column}) * 1000)::float8`);

/** Of every stream that was ever run: its state, and how its newest run ended. */
async function readStreams(db: Queryable, accounts: string): Promise<Iterable<StreamRow>> {
  return await db.execute<StreamRow>(sql`
    select a.account_id, s.stream, ${ms('t.last_success_at')} as last_success_ms,
      ${ms('t.watermark')} as watermark_ms, ${ms('t.calculated_at')} as calculated_ms,
      l.status as last_status, l.error_code as last_error_code
    from unnest(${accounts}::text[]) as a (account_id)
    cross join unnest(${toArrayLiteral(STREAM_NAMES)}::text[]) as s (stream)
    left join safety_sync.stream_state t on t.account_id = a.account_id and t.stream = s.stream
    left join lateral (
      select r.status, r.error_code from safety_sync.runs r
      where r.account_id = a.account_id and r.stream = s.stream and r.status <> 'running'
      order by r.run_id desc limit 1) l on true
    where t.account_id is not null or l.status is not null`);
}

interface Counted extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly count: number;
}

const keyOf = ({ account_id, stream }: Pick<Counted, 'account_id' | 'stream'>) => `${stream} ${account_id}`;

async function countByStream(db: Queryable, accounts: string, what: 'running' | 'issues') {
  const rows = await db.execute<Counted>(
    what === 'running'
      ? sql`select account_id, stream, count(*)::int as count from safety_sync.runs
          where status = 'running' and account_id = any (${accounts}::text[]) group by account_id, stream`
      : sql`select account_id, stream, count(*)::int as count from safety_sync.data_issues
          where resolved_at is null and account_id = any (${accounts}::text[]) group by account_id, stream`,
  );
  return new Map([...rows].map((row) => [keyOf(row), row]));
}

export async function readAccounts(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accountIds: readonly string[],
): Promise<AccountsSight> {
  const { databaseNowMs, pendingMigrations } = await readDatabaseState({ db, query });
  if (pendingMigrations > 0) return { databaseNowMs, pendingMigrations, accounts: new Map() };
  const list = toArrayLiteral(accountIds);
  const running = await countByStream(db, list, 'running');
  const issues = await countByStream(db, list, 'issues');
  const accounts = new Map<string, StreamSight[]>();
  const add = (row: Pick<Counted, 'account_id' | 'stream'> & Partial<StreamRow>): void => {
    const sight: StreamSight = {
      stream: row.stream,
      lastSuccessMs: row.last_success_ms ?? null,
      watermarkMs: row.watermark_ms ?? null,
      calculatedMs: row.calculated_ms ?? null,
      lastStatus: row.last_status ?? null,
      lastErrorCode: row.last_error_code ?? null,
      isRunning: running.has(keyOf(row)),
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
  for (const [key, row] of running) if (!seen.has(key)) add(row);
  return { databaseNowMs, pendingMigrations, accounts };
}
