/** Elements of SQL text: names, taken from the drizzle tables only, staged rows, times. */
import { type SQL, sql } from 'drizzle-orm';
import type { StreamDefinition } from '../streams/stream.ts';
import { type ColumnShape, type TableShape, tableShape } from './table-shape.ts';

/**
 * The time of the open transaction, stored in all its rows. It is read once and passed to every statement,
 * because in distributed tables each node has a `now()` of its own. Defaults of columns that are filled by
 * COPY have this time, too: the statement that reads the rows computes them.
 */
export interface TransactionTime {
  /** That of the database's clock, or the next instant of the stream where the clock was set back. */
  readonly now: string;
}

export const instantOf = ({ now }: TransactionTime): SQL => sql`${now}::timestamptz`;

export const name = (text: string): SQL => sql`${sql.identifier(text)}`;

function each(names: readonly string[], toSql: (column: SQL) => SQL, separator = sql`, `): SQL {
  const all = names.map((column) => toSql(name(column)));
  return sql.join(all, separator);
}

export const joinColumns = (names: readonly string[]): SQL => each(names, (column) => column);
export const of = (alias: string, names: readonly string[]): SQL =>
  each(names, (column) => sql`${name(alias)}.${column}`);
export const same = (left: string, right: string, names: readonly string[]): SQL =>
  each(names, (column) => sql`${name(left)}.${column} = ${name(right)}.${column}`, sql` and `);
/** For `on conflict do update set`: the values of the statement. */
export const asInserted = (names: readonly string[]): SQL =>
  each(names, (column) => sql`${column} = excluded.${column}`);

/** Columns with their types, as in the definition of a table. */
export const definitions = (columns: readonly ColumnShape[]): SQL =>
  sql.raw(columns.map((column) => `"${column.name}" ${column.type}`).join(', '));

/** For rows `t`: marked as deleted, and not because the service sends it so: a received record makes the row live again. */
export const isGoneText = ({ deletedColumn }: TableShape): string =>
  deletedColumn === null
    ? 't._deleted_at is not null'
    : `(t._deleted_at is not null and t."${deletedColumn}" is not true)`;
export const isGone = (shape: TableShape): SQL => sql.raw(isGoneText(shape));
/** For rows `t` that `other` replaces: the source has the record again. */
export const isReturning = ({ deletedColumn }: TableShape, other: string): SQL =>
  deletedColumn === null
    ? sql`t._deleted_at is not null`
    : sql`(t._deleted_at is not null and ${name(other)}._deleted_at is null)`;

/** The column with the key of the record. */
export const keyColumn = ({ key }: TableShape): SQL => name(key[0]);

export const stage = (shape: TableShape): SQL => sql`pg_temp.${name(shape.stage)}`;

/**
 * Columns of a temporary table, for a statement that also reads tables of the warehouse. If these are distributed, a
 * subselect that cannot be flattened (because of `offset 0`) is evaluated first, and its rows are sent to the nodes. The
 * temporary table itself exists only at the coordinator.
 */
export const taken = (table: string, columns: readonly string[]): SQL =>
  sql`(select ${joinColumns(columns)} from pg_temp.${name(table)} offset 0)`;
/** The staged rows of a table as such a subselect. */
export const staged = (shape: TableShape, columns: readonly string[]): SQL => taken(shape.stage, columns);

/**
 * For rows `t` of the parent: the partition of the last response with the row, and the join that this needs. It is null
 * where the stream is requested as a whole.
 */
export function partitionOf({ partitionedBy, parent }: StreamDefinition): { partition: SQL; join: SQL } {
  if (partitionedBy === undefined) return { partition: sql`null`, join: sql`` };
  const [requested, own] = [tableShape(partitionedBy.requested), tableShape(parent)];
  return {
    partition: sql`coalesce(a.${name(requested.columns.at(-1)?.name ?? '')}, t.${name(partitionedBy.column)})`,
    join: sql`left join ${partitionedBy.requested} a
      on a.account_id = t.account_id and a.${keyColumn(requested)} = t.${keyColumn(own)}`,
  };
}

/** Like `partitionOf`, for the context of the stored record: a `ReadContext` as jsonb. */
export function contextOf(stream: StreamDefinition): { context: SQL; join: SQL } {
  const { partition, join } = partitionOf(stream);
  const calculatedAt = stream.readMode.kind === 'cached_list' ? msOf('t.calculated_at') : sql`null`;
  const context = sql`jsonb_strip_nulls(jsonb_build_object('equipmentTypeId', ${partition}, 'calculatedAtMs', ${calculatedAt}))`;
  return { context, join };
}

/** ms since 1970 of a time. */
export const msOf = (time: string): SQL => sql.raw(`floor(extract(epoch from ${time}) * 1000)::float8`);
/** ms since a time, by the database's clock. */
export const agoOf = (time: string): SQL =>
  sql.raw(`(extract(epoch from clock_timestamp() - ${time}) * 1000)::float8`);
/** A time, of ms since 1970. */
export const timestampLiteral = (ms: number): SQL => sql`${new Date(ms).toISOString()}::timestamptz`;
