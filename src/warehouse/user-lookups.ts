/** Reads and writes `safety_sync.user_lookups`: which user ids to ask for, and when. */
import { and, asc, eq, lte, sql } from 'drizzle-orm';
import type { Queryable } from './connection.ts';
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
  for (const { userId, isKnown, againInMs } of results) {
    await db
      .update(userLookups)
      .set({
        asked_at: sql`now()`,
        is_known: isKnown,
        due_at: sql`now() + make_interval(secs => ${againInMs / 1000}::float8)`,
      })
      .where(and(eq(userLookups.account_id, accountId), eq(userLookups.user_id, userId)));
  }
}
