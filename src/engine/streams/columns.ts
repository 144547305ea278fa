/**
 * Column builders that every stream's tables share. Values are text in the format of PostgreSQL, so they are never rounded.
 *
 * Only primary keys begin with `account_id`. For the planner, an account that is missing from its statistics has no rows, so
 * any index that begins with `account_id` looks as good as the primary key: a lookup by key would then read the whole
 * account.
 */
import {
  customType,
  type ExtraConfigColumn,
  type PgColumnBuilderBase,
  type PgSchema,
  pgSchema,
  type PgTableExtraConfigValue,
  primaryKey,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

/** 64-bit integer kept as decimal text in JavaScript, because a double would round from 2^53 on. */
export const bigintText = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' });

/** jsonb written from any JSON value. */
export const json = customType<{ data: unknown; driverData: unknown }>({ dataType: () => 'jsonb' });

/** Point in time, ISO text in JavaScript. */
export const instant = () => timestamp({ withTimezone: true, mode: 'string' });

/**
 * Text that is compared byte by byte: ids, and what belongs to a key or an index. An upgrade of the system's locale changes the
 * order of other text, and would break unique keys. drizzle-kit writes an array of it wrongly (`"C"[]`): edit that line.
 */
export const idText = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
});

/** The type in a cast or a temporary table. */
export const typeName = (column: { getSQLType(): string }): string =>
  column.getSQLType().replace(' collate "C"', '');

export const accountId = () => idText().notNull();

/** PostgreSQL cuts longer names. */
const MOST_OF_A_NAME = 63;

/**
 * Makes tables of accounts, each with its primary key. `key`: its columns after the account, which is first in every key, so that
 * rows of one account can be kept on one node. `others`: its indexes and foreign keys.
 */
export const tablesOf =
  <Schema extends string>(schema: PgSchema<Schema>) =>
  <Name extends string, Columns extends Record<string, PgColumnBuilderBase>>(
    name: Name,
    key: readonly (keyof Columns & string)[],
    columns: Columns,
    others: (
      t: Readonly<Record<'account_id' | keyof Columns, ExtraConfigColumn>>,
    ) => readonly PgTableExtraConfigValue[] = () => [],
  ) =>
    schema.table(name, { account_id: accountId(), ...columns }, (t) => {
      const all = t as unknown as Record<'account_id' | keyof Columns, ExtraConfigColumn>;
      const isLong = [name, 'account_id', ...key, 'pk'].join('_').length > MOST_OF_A_NAME;
      return [
        primaryKey({
          ...(isLong && { name: `${name}_pk` }),
          columns: [all.account_id, ...key.map((one) => all[one])],
        }),
        ...others(all),
      ];
    });

/** The schema that BI users see. */
export const safetySchema = pgSchema('safety');
export const safetyTable = tablesOf(safetySchema);

/** Columns of a table with a history, before the bookkeeping; written by the merge. */
export const stateStart = () => ({
  /** Beginning of the row's present state; for a deleted row, of its last state. */
  _valid_from: instant().notNull().defaultNow(),
});

/** Begin and end of a superseded state, after the columns that it shares with its table. */
export const statePeriod = () => ({
  valid_from: instant().notNull(),
  valid_to: instant().notNull(),
});

/**
 * Columns of every entity table, after the columns that it had when it was created; written by the merge, never by `toRows`.
 */
export const bookkeeping = () => ({
  /** Hash of the whole record as received, including children: rows with an equal hash are not written. */
  _hash: uuid(),
  _raw: json(),
  _synced_at: instant().notNull().defaultNow(),
  _deleted_at: instant(),
  _run_id: bigintText().notNull(),
});
