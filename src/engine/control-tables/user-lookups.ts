/** Reads and writes `safety_sync.user_lookups`: which user ids to request, and when. */
import { sql } from 'drizzle-orm';
import type { DueLookup, FailingLookups, LookupResult } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { userLookups } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { TransactionTime } from '../database/sql-names.ts';

interface DueLookups {
  /** Request every id, also those that were requested recently. */
  readonly all: boolean;
  /** The database's time when the run began (`readTime`): each user is requested at most once in a run. */
  readonly notAskedSince: string;
  readonly limit: number;
}

/** The queries of the reader of users. */
export function createLookupReads(db: Queryable, accountId: string) {
  /** To the microsecond, as text. */
  async function readTime(): Promise<string> {
    const [row] = await db.execute<{ now: string }>(sql`select clock_timestamp()::text as now`);
    if (row === undefined) throw new TypeError('the database returned no time');
    return row.now;
  }

  return {
    readTime,
    /** The id with the oldest request is first, so an id that always fails is behind all others. */
    async readDueLookups({ all, notAskedSince, limit }: DueLookups): Promise<DueLookup[]> {
      // Not `now()`, because that would be the time of the node with the rows.
      const now = await readTime();
      // A request in the future is from before the clock was put back; the clocks of nodes may differ by seconds.
      const isInFuture = sql`asked_at > greatest(${now}::timestamptz, ${notAskedSince}::timestamptz) + interval '1 minute'`;
      return await db.execute<DueLookup & Record<string, unknown>>(sql`
        select user_id as "userId", failures from ${userLookups}
        where account_id = ${accountId} and (${all}::boolean or due_at <= ${now}::timestamptz or ${isInFuture})
          and (asked_at is null or asked_at < ${notAskedSince}::timestamptz or ${isInFuture})
        order by asked_at nulls first, user_id limit ${limit}`);
    },
    async readSucceededLookups(limit: number): Promise<string[]> {
      const rows = await db.execute<{ user_id: string }>(sql`
        select user_id from ${userLookups} where account_id = ${accountId} and is_known is not null and failures = 0
        order by asked_at desc, user_id limit ${limit}`);
      return rows.map((row) => row.user_id);
    },
    async readFailingLookups(limit: number): Promise<FailingLookups> {
      const rows = await db.execute<{ userId: string; error: string | null; total: number }>(sql`
        select user_id as "userId", last_error as error, (count(*) over ())::int as total from ${userLookups}
        where account_id = ${accountId} and failures > 0 order by user_id limit ${limit}`);
      return { total: rows[0]?.total ?? 0, some: rows.map(({ userId, error }) => ({ userId, error })) };
    },
  };
}

/** Runs in the transaction that stores the users themselves. */
export async function writeLookupResults(
  db: Queryable,
  { accountId, begunAt, now }: TransactionTime & { readonly accountId: string; readonly begunAt: string },
  results: readonly LookupResult[],
): Promise<void> {
  if (results.length === 0) return;
  // Never before the run began, even if the database's clock was set back: the lookups would not end.
  await db.execute(sql`update ${userLookups} l
    set asked_at = greatest(${now}::timestamptz, ${begunAt}::timestamptz), is_known = coalesce(r."isKnown", l.is_known),
      failures = r.failures, last_error = r.error, due_at = coalesce(r.due_at, l.due_at)
    from (select "userId", "isKnown", failures, error, ${now}::timestamptz + make_interval(secs => "againInMs" / 1000) as due_at
      from json_to_recordset(${JSON.stringify(results)}::json) as n
        ("userId" text, "isKnown" boolean, "againInMs" float8, failures int, error text)) r
    where l.account_id = ${accountId} and l.user_id = r."userId"`);
}

/** Waits until other transactions that have recorded user ids of the account are committed. */
export async function lockUsers(db: Queryable, accountId: string): Promise<void> {
  await db.execute(
    sql`select pg_advisory_xact_lock(hashtextextended('safety-sync-user-lookups:' || ${accountId}::text, 0))`,
  );
}

/**
 * Records user ids of rows that are being stored, part of the transaction that stores them. Streams share
 * people: two transactions that record the same ids in different orders would deadlock, so those of an
 * account take turns.
 */
export async function recordUsers(db: Queryable, ids: readonly string[], accountId: string): Promise<void> {
  if (ids.length === 0) return;
  await lockUsers(db, accountId);
  await db.execute(sql`insert into safety_sync.user_lookups (account_id, user_id)
    select distinct ${accountId}::text, m.user_id from unnest(${toArrayLiteral(ids)}::text[]) as m (user_id)
    where m.user_id <> '' and octet_length(m.user_id) <= 600
    on conflict (account_id, user_id) do nothing`);
}
