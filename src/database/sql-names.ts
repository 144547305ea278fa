/** Names of tables and columns in SQL text, taken from the drizzle tables only. */
import { type SQL, sql } from 'drizzle-orm';
import type { TableShape } from './table-shape.ts';

/** Whose rows a merge writes, and in which run. */
export interface MergeScope {
  readonly accountId: string;
  readonly runId: number;
}

export const name = (text: string): SQL => sql`${sql.identifier(text)}`;
export const list = (names: readonly string[]): SQL =>
  sql.join(
    names.map((column) => name(column)),
    sql`, `,
  );
export const of = (alias: string, names: readonly string[]): SQL =>
  sql.join(
    names.map((column) => sql`${name(alias)}.${name(column)}`),
    sql`, `,
  );
export const same = (left: string, right: string, names: readonly string[]): SQL =>
  sql.join(
    names.map((column) => sql`${name(left)}.${name(column)} = ${name(right)}.${name(column)}`),
    sql` and `,
  );

export function target(shape: TableShape): SQL {
  return sql`${name(shape.schema)}.${name(shape.name)}`;
}
export function stage(shape: TableShape): SQL {
  return sql`pg_temp.${name(shape.stage)}`;
}
