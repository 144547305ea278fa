/**
 * Days of follow-ups that are over, counted once. The views `followup_daily…` show them and work out the days after the
 * last kept one, so what is kept changes how long they take and nothing else.
 *
 * Kept days are always all days up to some day: whoever stores a change takes out those from the day on which it has an
 * effect, in the same transaction, and the stream’s run counts them anew when it is closed.
 */
import { sql } from 'drizzle-orm';
import { boolean, date, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { accountId, safetySchema } from '../streams/columns.ts';
import type { Queryable } from './connection.ts';
import type { TransactionTime } from './sql-names.ts';
import type { StreamSession } from './stream-session.ts';

export const followupDays = safetySchema.table(
  'followup_days',
  {
    account_id: accountId(),
    counted_by: text().$type<'all' | 'assignee' | 'form'>().notNull(),
    date: date({ mode: 'string' }).notNull(),
    /** In which the day began and ended; after a change of the account’s it counts as not kept. */
    timezone: text().notNull(),
    /** Rows that it counts have been removed: it cannot be counted anew. */
    is_final: boolean().notNull().default(false),
    /** A count in each place of the three: of which assignee or form, in which status, how many. */
    ids: text().array().notNull(),
    statuses: text().array().notNull(),
    followups: integer().array().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.counted_by, t.date] })],
);

/** In this order: the days for all follow-ups say up to which day the others are kept, too. */
const VIEWS = [
  { countedBy: 'assignee', view: 'followup_daily_by_assignee', id: 'assignee_id' },
  { countedBy: 'form', view: 'followup_daily_by_form', id: 'form_id::text' },
  { countedBy: 'all', view: 'followup_daily', id: 'null::text' },
] as const;

/** Takes out the days on which something stored now has an effect: from the earliest of these times on, `now` among them. */
export async function deleteDays(
  db: Queryable,
  {
    accountId: account,
    from,
    now,
  }: TransactionTime & { readonly accountId: string; readonly from: readonly (string | null)[] },
): Promise<void> {
  const times = [...from, now].map((time) => sql`${time}::timestamptz`);
  await db.execute(sql`delete from ${followupDays} where account_id = ${account} and not is_final
    and date >= (least(${sql.join(times, sql`, `)}) at time zone timezone)::date`);
}

/** Days before this time will lack what is about to be removed. */
export async function finishDays(db: Queryable, account: string, before: string): Promise<void> {
  await db.execute(sql`update ${followupDays} set is_final = true where account_id = ${account} and not is_final
    and date < (${before}::timestamptz at time zone timezone)::date`);
}

/** Counts the days that are over and not kept; nothing where the account has no reporting time zone yet. Returns how many. */
export async function keepDays(session: StreamSession, account: string): Promise<number> {
  const { db } = session.connection;
  const [row] = await db.execute<{ timezone: string; kept_to: string | null; days: number | null }>(sql`
    select z.timezone, k.kept_to::text as kept_to, z.today - 1 - k.kept_to as days
    from safety.reporting_clock z cross join lateral (
      select max(d.date) as kept_to from ${followupDays} d
      where d.account_id = ${account} and d.counted_by = 'all' and (d.timezone = z.timezone or d.is_final)) k
    where z.account_id = ${account}`);
  if (row === undefined || row.days === 0) return 0;
  const { timezone, kept_to: keptTo } = row;
  let kept = 0;
  await session.begin();
  const isAfter = sql`account_id = ${account} and date > coalesce(${keptTo}::date, '-infinity')`;
  await db.execute(sql`delete from ${followupDays} where ${isAfter}`);
  for (const { countedBy, view, id } of VIEWS) {
    const { count } = await db.execute(sql`
      insert into ${followupDays} (account_id, counted_by, date, timezone, ids, statuses, followups)
      select ${account}, ${countedBy}, date, ${timezone}, array_agg(${sql.raw(id)}), array_agg(status), array_agg(followups)
      from safety.${sql.raw(view)} where ${isAfter} and days_ago > 0 group by date`);
    if (countedBy === 'all') kept = count;
  }
  await session.commit({ isDurable: true });
  return kept;
}
