/**
 * Declares the columns of the streams' tables: for each its type, its meaning and, if the service sends it, its source
 * field. The tables, their tables of states, the readers and the comments are derived from that.
 */
import { boolean, date, foreignKey, getTableConfig, numeric, text } from 'drizzle-orm/pg-core';
import type { PgColumn, PgColumnBuilderBase, PgTable } from 'drizzle-orm/pg-core';
import { bigintText, instant, json, idText } from './columns.ts';
import type { WireField, WireFields, WireRecord } from './stream.ts';
import * as wire from './wire.ts';

export interface ColumnField<T> extends wire.Field<T>, WireField {
  /** Unit of a number that represents a time, for the dictionary. */
  readonly unit?: 'ms' | 'YYYYMMDD';
}

interface DeclaredColumn<B extends PgColumnBuilderBase> {
  /** A function, because a table and its table of states each need a builder of their own. */
  readonly build: () => B;
  readonly meaning: string;
}

type Columns = Readonly<Record<string, DeclaredColumn<PgColumnBuilderBase>>>;

/** Reader for a value of the service, and type of the column that stores it. */
interface Kind<T, B extends PgColumnBuilderBase> {
  readonly wire: ColumnField<T>;
  readonly build: () => B;
  /** The reason for null in the column; '' if it is never null. */
  readonly otherwise: string;
}

export const kind = <T, B extends PgColumnBuilderBase>(
  wire: ColumnField<T>,
  build: () => B,
  otherwise = 'null when not sent.',
): Kind<T, B> => ({ wire, build, otherwise });

export const as = {
  key: kind(wire.key, () => idText().notNull(), ''),
  userKey: kind({ ...wire.key, isUser: true }, () => idText().notNull(), ''),
  userId: kind({ ...wire.identifier, isUser: true }, () => idText()),
  userIds: kind({ ...wire.list(wire.identifier), isUser: true }, () => idText().array()),
  identifier: kind(wire.identifier, () => idText()),
  identifiers: kind(wire.list(wire.identifier), () => idText().array()),
  text: kind({ ...wire.text, isText: true }, () => text()),
  texts: kind({ ...wire.list(wire.text), isText: true }, () => text().array()),
  oneOf: (...known: readonly string[]) => kind(wire.oneOf(known), () => text()),
  boolean: kind(wire.boolean, () => boolean()),
  bigint: kind(wire.bigint, () => bigintText()),
  bigintKey: kind(wire.bigint, () => bigintText().notNull(), ''),
  bigints: kind(wire.list(wire.bigint), () => bigintText().array()),
  numeric: kind(wire.numeric, () => numeric()),
  instant: kind({ ...wire.instant, unit: 'ms' }, instant),
  date: kind({ ...wire.date, unit: 'YYYYMMDD' }, () => date()),
  day: kind(wire.day, () => date()),
  object: kind(wire.object, () => json()),
  anything: kind(wire.anything, () => json()),
};

/** A column that the worker computes. */
export const column = <B extends PgColumnBuilderBase>(
  build: () => B,
  meaning: string,
): DeclaredColumn<B> => ({ build, meaning });

/** A column for the field `name` of the service. */
export function field<T, B extends PgColumnBuilderBase>(
  name: string,
  kind: Kind<T, B>,
  meaning: string,
  otherwise = kind.otherwise,
): DeclaredColumn<B> & ColumnField<T> & { readonly name: string } {
  const { wire, build } = kind;
  const unit = wire.unit === undefined ? '' : ` (${wire.unit})`;
  const end = otherwise === '' ? '.' : `; ${otherwise}`;
  return { ...wire, name, build, meaning: `${meaning} Source: ${name}${unit}${end}` };
}

/** A field that is never stored, in `_raw` neither. */
export const dropped = (name: string) => ({ ...wire.anything, name, isDropped: true as const });

/** A list of objects that are the rows of a child table. */
export const itemsOf = (table: PgTable, fields: WireFields): ColumnField<wire.Item[]> => ({
  ...wire.items,
  rows: { table, fields },
});

/** An object with entries that are also rows of a child table. */
export const fieldEntries = (
  table: PgTable,
  columnOf: (value: unknown) => string | null,
): ColumnField<WireRecord> => ({ ...wire.object, rows: { table, columnOf } });

/** The foreign key of a child table to the primary key of `parent`: its rows are deleted with the parent's row. */
export function childOf(parent: PgTable, columns: [PgColumn, ...PgColumn[]], name: string) {
  const foreignColumns = getTableConfig(parent).primaryKeys[0]?.columns as typeof columns;
  return foreignKey({ name, columns, foreignColumns }).onDelete('cascade');
}

/** New builders for one table. */
export const tableColumns = <C extends Columns>(columns: C) =>
  Object.fromEntries(Object.entries(columns).map(([name, { build }]) => [name, build()])) as {
    [K in keyof C]: ReturnType<C[K]['build']>;
  };

/** The meanings of the columns, for the dictionary. */
export const meaningsOf = (columns: Columns): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(columns).map(([name, { meaning }]) => [name, meaning]));
