/**
 * Settings that the views need for their readers: the time zone of days, and the addresses of records. One row per account,
 * written at the start of every command that migrates.
 */
import { sql } from 'drizzle-orm';
import { primaryKey, text } from 'drizzle-orm/pg-core';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { name } from '../engine/database/sql-names.ts';
import { accountId, instant, safetySchema } from '../engine/streams/columns.ts';
import { RECORD_KINDS, type RecordUrls } from '../shared/record-urls.ts';

export const reportingSettings = safetySchema.table(
  'reporting_settings',
  {
    account_id: accountId(),
    timezone: text().notNull(),
    changed_at: instant().notNull(),
    followup_url: text(),
    resource_url: text(),
    equipment_url: text(),
    employee_url: text(),
  },
  (t) => [primaryKey({ columns: [t.account_id] })],
);

/** By account, of those that have one. */
async function readReportingTimezones(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.execute<{ account_id: string; timezone: string }>(
    sql`select account_id, timezone from ${reportingSettings} where account_id = any (${toArrayLiteral(accountIds)}::text[])`,
  );
  return new Map(rows.map((row) => [row.account_id, row.timezone]));
}

/**
 * Writes only changes. What is not set keeps its stored value, because a command without the variable would otherwise shift
 * all days in views. A new account without a zone gets UTC. Returns the accounts with a replaced zone, and that zone.
 * Error: `database_error` for a zone that PostgreSQL does not know.
 */
export async function writeViewSettings(
  db: Queryable,
  wanted: readonly { readonly accountId: string; readonly timezone: string | null }[],
  urls: RecordUrls = {},
) {
  const ids = wanted.map(({ accountId: id }) => id);
  const written = await readReportingTimezones(db, ids);
  const zones = wanted.flatMap(({ accountId: id, timezone: configured }) => {
    const before = written.get(id) ?? null;
    const timezone = configured ?? before ?? 'UTC';
    return timezone === before ? [] : [{ accountId: id, timezone, before }];
  });
  if (zones.length > 0)
    await db.execute(sql`insert into ${reportingSettings} as t (account_id, timezone, changed_at)
      select account, zone, now() from unnest(${toArrayLiteral(zones.map(({ accountId: id }) => id))}::text[],
        ${toArrayLiteral(zones.map(({ timezone }) => timezone))}::text[]) as n (account, zone)
      where now() at time zone zone is not null
      on conflict (account_id) do update set timezone = excluded.timezone, changed_at = excluded.changed_at
      where t.timezone <> excluded.timezone`);
  for (const kind of RECORD_KINDS) {
    const column = name(`${kind}_url`);
    const url = urls[kind] ?? null;
    if (url !== null)
      await db.execute(sql`update ${reportingSettings} set ${column} = ${url}
        where account_id = any (${toArrayLiteral(ids)}::text[]) and ${column} is distinct from ${url}`);
  }
  return zones.filter(({ before }) => before !== null);
}
