/**
 * Column builders that every stream's tables share. Values are the text that PostgreSQL reads, so nothing is rounded on the way.
 *
 * Only primary keys begin with `account_id`. To the planner an account that its statistics have not met yet has no rows,
 * so any index that begins with it looks as good as the primary key: a lookup by key would then read the whole account.
 */
import { customType, pgSchema, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** Everything BI users see. */
export const safetySchema = pgSchema('safety');

/** 64-bit integer kept as decimal text in JavaScript: a double would round from 2^53 on. */
export const bigintText = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' });

/** jsonb written from any JSON value. */
export const json = customType<{ data: unknown; driverData: unknown }>({ dataType: () => 'jsonb' });

/** Point in time, ISO text in JavaScript. */
export const instant = () => timestamp({ withTimezone: true, mode: 'string' });

export const accountId = () => text().notNull();

/** Columns of a table whose states are kept, before the bookkeeping; written by the merge. */
export const stateStart = () => ({
  /** Since when the row's present state holds; for a deleted row: since when its last state held. */
  _valid_from: instant().notNull().defaultNow(),
});

/** Begin and end of a superseded state, behind the columns that it shares with its table. */
export const statePeriod = () => ({
  valid_from: instant().notNull(),
  valid_to: instant().notNull(),
});

/** Of every entity table, behind the columns that it had when it was created; written by the merge, never by `toRows`. */
export const bookkeeping = () => ({
  /** Of the whole record as received, children included: equal hashes mean that nothing has to be written. */
  _hash: uuid(),
  _raw: json(),
  _synced_at: instant().notNull().defaultNow(),
  _deleted_at: instant(),
  _run_id: bigintText().notNull(),
});
