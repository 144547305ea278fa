/**
 * Settings that the views need for their readers: the time zone of days, and the addresses of records. One row per account,
 * written at the start of every command that migrates.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'drizzle-orm';
import { primaryKey, text } from 'drizzle-orm/pg-core';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
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

/**
 * Writes only changes. A setting without a value keeps the stored one, because a command without the variable would otherwise shift
 * all days in views. A new account without a zone gets UTC. Returns the accounts with a replaced zone, and that zone.
 * Error: `database_error` for a zone that PostgreSQL does not know.
 */
export async function writeViewSettings(
  db: Queryable,
  wanted: readonly { readonly accountId: string; readonly timezone: string | null }[],
  urls: RecordUrls = {},
) {
  const ids = toArrayLiteral(wanted.map(({ accountId: id }) => id));
  const stored = await db
    .select()
    .from(reportingSettings)
    .where(sql`account_id = any (${ids}::text[])`);
  const set = Object.fromEntries(
    RECORD_KINDS.flatMap((kind) => (urls[kind] === undefined ? [] : [[`${kind}_url`, urls[kind]]])),
  );
  const moved: { accountId: string; timezone: string; before: string }[] = [];
  for (const { accountId: id, timezone: configured } of wanted) {
    const before = stored.find((one) => one.account_id === id);
    const timezone = configured ?? before?.timezone ?? 'UTC';
    const isMoved = timezone !== before?.timezone;
    if (!isMoved && isDeepStrictEqual({ ...before, ...set }, before)) continue;
    await db.execute(sql`select now() at time zone ${timezone}`);
    const row = { timezone, ...set };
    // Citus allows no function that reads the clock in the update.
    const changed = isMoved && { changed_at: sql`excluded.changed_at` };
    await db
      .insert(reportingSettings)
      .values({ account_id: id, changed_at: sql`now()`, ...row })
      .onConflictDoUpdate({ target: reportingSettings.account_id, set: { ...row, ...changed } });
    if (before !== undefined && isMoved) moved.push({ accountId: id, timezone, before: before.timezone });
  }
  return moved;
}
