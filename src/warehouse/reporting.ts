/** What the views need to know of their readers: the time zone in which days begin. One row per account, written at the start of every command that migrates. */
import { sql } from 'drizzle-orm';
import { primaryKey, text } from 'drizzle-orm/pg-core';
import { SafetySyncError } from '../shared/errors.ts';
import { accountId, instant, safetySchema } from '../streams/columns.ts';
import type { Queryable } from './connection.ts';

export const reportingSettings = safetySchema.table(
  'reporting_settings',
  {
    account_id: accountId(),
    timezone: text().notNull(),
    changed_at: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id] })],
);

/** Writes nothing when nothing has changed. Error: `configuration_invalid` for a zone that PostgreSQL does not know. */
export async function writeReportingTimezone(
  db: Queryable,
  account: string,
  timezone: string,
): Promise<void> {
  const [written] = await db.execute<{ timezone: string }>(
    sql`select timezone from ${reportingSettings} where account_id = ${account}`,
  );
  if (written?.timezone === timezone) return;
  const [known] = await db.execute<{ known: boolean }>(
    sql`select exists (select from pg_timezone_names where lower(name) = lower(${timezone})) as known`,
  );
  if (known?.known !== true) {
    throw new SafetySyncError(
      'configuration_invalid',
      `REPORTING_TIMEZONE: PostgreSQL knows no time zone ${JSON.stringify(timezone)}`,
    );
  }
  await db.execute(sql`insert into ${reportingSettings} as t (account_id, timezone, changed_at)
    values (${account}, ${timezone}, now())
    on conflict (account_id) do update set timezone = excluded.timezone, changed_at = excluded.changed_at
    where t.timezone <> excluded.timezone`);
}
