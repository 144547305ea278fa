/** Reads and writes `safety_sync.user_lookups`: which user ids to ask for, and when. */
import { and, asc, eq, lte, type SQL, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from './connection.ts';
import { userLookups } from './control-tables.ts';

export interface DueLookups {
  readonly accountId: string;
  /** Ask for every id, also those that were asked for lately. */
  readonly all: boolean;
  /** Ids after this one, in order: the next portion. */
  readonly after: string | null;
  readonly limit: number;
}

export async function readDueLookups(db: Queryable, due: DueLookups): Promise<string[]> {
  const rows = await db
    .select({ user_id: userLookups.user_id })
    .from(userLookups)
    .where(
      and(
        eq(userLookups.account_id, due.accountId),
        due.all ? undefined : lte(userLookups.due_at, sql`now()`),
        due.after === null ? undefined : sql`${userLookups.user_id} > ${due.after}`,
      ),
    )
    .orderBy(asc(userLookups.user_id))
    .limit(due.limit);
  return rows.map((row) => row.user_id);
}

export interface LookupResult {
  readonly userId: string;
  readonly isKnown: boolean;
  /** When to ask again, ms from now. */
  readonly againInMs: number;
}

/** Part of the transaction that stores the users themselves. */
export async function writeLookupResults(
  db: Queryable,
  accountId: string,
  results: readonly LookupResult[],
): Promise<void> {
  if (results.length === 0) return;
  await db.execute(sql`update ${userLookups} l
    set asked_at = now(), is_known = r."isKnown", due_at = now() + make_interval(secs => r."againInMs" / 1000)
    from json_to_recordset(${JSON.stringify(results)}::json) as r ("userId" text, "isKnown" boolean, "againInMs" float8)
    where l.account_id = ${accountId} and l.user_id = r."userId"`);
}

/**
 * Notes user ids of rows that are being stored, part of the transaction that stores them. Streams meet the same people: two
 * transactions that note the same ids in another order would wait for each other, so those of an account take turns.
 */
export async function noteUsers(tx: Transaction, ids: SQL, accountId: string): Promise<void> {
  await tx.execute(
    sql`select pg_advisory_xact_lock(hashtextextended('safety-sync:user-lookups:' || ${accountId}::text, 0))`,
  );
  await tx.execute(sql`insert into safety_sync.user_lookups (account_id, user_id)
    select distinct ${accountId}::text, m.user_id from (${ids}) m
    where m.user_id <> '' and octet_length(m.user_id) <= 600
    on conflict (account_id, user_id) do nothing`);
}
