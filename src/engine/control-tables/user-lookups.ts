/** Reads and writes `safety_sync.user_lookups`: the ids of people in stored rows, and those that were requested one by one. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { TransactionTime } from '../database/sql-names.ts';
import { users } from '../streams/users.ts';
import { userLookups } from './control-tables.ts';

/** Ids in rows, each with the row of its person. A join, because Citus plans no subselect in an `or`. */
const IDS = sql`${userLookups} l left join ${users} u on u.account_id = l.account_id and u.id = l.user_id`;
/**
 * A row without a hash waits for the service's values, as after less protection; a list brings those of its people. The
 * service knows no pseudonym.
 */
const isUnknown = sql`u._hash is null and l.user_id not like 'pseudonym:%' and (u.id is null or u._deleted_at is not null or l.named_at is not null)`;

/** The queries of the reader of people. */
export const createPeopleReads = (db: Queryable, accountId: string) => ({
  /** `listed`: people that users.list contained. `hasNew`: an id that it did not name was first met since it was read. */
  async readKnownPeople() {
    const [row] = await db.execute<{ listed: number; hasNew: boolean }>(sql`
      select (select count(*) from ${users} u left join ${userLookups} l on l.account_id = u.account_id and l.user_id = u.id
          where u.account_id = ${accountId} and u._deleted_at is null and l.named_at is null)::int as listed,
        exists (select from ${IDS} where l.account_id = ${accountId} and (${isUnknown} or l.named_at is not null)
          and l.first_met_at > (select m.read_at from safety_sync.optional_methods m
            where m.account_id = ${accountId} and m.method = 'users.list')) as "hasNew"`);
    return row ?? { listed: 0, hasNew: false };
  },
  /** Those that were never requested are first. `isAll`: also those of the last seven days. */
  async readUnknownPeople({ isAll }: { readonly isAll: boolean }) {
    const rows = await db.execute<{ id: string }>(sql`
      select l.user_id as id from ${IDS} where l.account_id = ${accountId} and ${isUnknown}
        and (${isAll}::boolean or l.asked_at is null or l.asked_at < clock_timestamp() - interval '7 days')
      order by l.asked_at nulls first, l.user_id`);
    return rows.map(({ id }) => id);
  },
});

/** Part of the transaction that stores what users.info answered. */
export async function writePeopleAsked(
  db: Queryable,
  { accountId, now }: TransactionTime & { readonly accountId: string },
  { id, isNamed }: { readonly id: string; readonly isNamed: boolean },
): Promise<void> {
  await db.execute(sql`update ${userLookups} set asked_at = ${now}::timestamptz,
      named_at = ${isNamed ? now : null}::timestamptz where account_id = ${accountId} and user_id = ${id}`);
}

/** Part of the transaction that stores a list: from here on these people are of the list. */
export async function writePeopleListed(
  db: Queryable,
  accountId: string,
  ids: readonly string[],
): Promise<void> {
  await db.execute(sql`update ${userLookups} set named_at = null
    where account_id = ${accountId} and named_at is not null and user_id = any (${toArrayLiteral(ids)}::text[])`);
}

/**
 * Records user ids of rows, at the end of the transaction that stores them. Streams share people: two transactions that record the
 * same new ids do so in one order, and leave known ones alone, so the second waits for the first and never the other way round.
 */
export async function recordUsers(db: Queryable, ids: readonly string[], accountId: string): Promise<void> {
  if (ids.length === 0) return;
  await db.execute(sql`insert into ${userLookups} (account_id, user_id)
    select ${accountId}::text, m.user_id from unnest(${toArrayLiteral(ids)}::text[]) as m (user_id)
    where m.user_id <> '' and octet_length(m.user_id) <= 600
      and not exists (select from ${userLookups} l where l.account_id = ${accountId} and l.user_id = m.user_id)
    order by m.user_id collate "C" on conflict (account_id, user_id) do nothing`);
}
