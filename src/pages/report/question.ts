/** A question that the report asks the warehouse's views: its SQL, and what a row of its answer is. */
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { toArrayLiteral } from '../../database/array-literal.ts';
import type { Queryable } from '../../database/connection.ts';

export interface Question<Row> {
  /** As a person asks it. */
  readonly title: string;
  /** `$1` is the account, `$2` the people who were chosen (`text[]`). Where docs/questions.md asks the same, this is its SQL, held to one account; time zone and today are then worked out once, not row by row. */
  readonly sql: string;
  readonly row: z.ZodType<Row>;
}

export function question<Row>(title: string, text: string, row: z.ZodType<Row>): Question<Row> {
  return { title, sql: text.trim(), row };
}

/** `bigint` and `numeric` come as text. */
export const number = z.union([z.number(), z.string().transform(Number)]);
export const numberOrNull = z.union([z.null(), number]);
export const text = z.string();
export const textOrNull = z.string().nullable();
/** `2026-03-01`, a day of the account's reporting time zone. */
export const day = z.string();
export const dayOrNull = z.string().nullable();

interface Asked {
  readonly accountId: string;
  readonly people?: readonly string[];
}

export async function ask<Row>(
  db: Pick<Queryable, 'execute'>,
  { sql: statement, row }: Question<Row>,
  { accountId, people = [] }: Asked,
): Promise<Row[]> {
  const parts = statement.split(/(\$[12])/).map((part) => {
    if (part === '$1') return sql`${accountId}`;
    return part === '$2' ? sql`${toArrayLiteral(people)}::text[]` : sql.raw(part);
  });
  const rows = await db.execute(sql.join(parts));
  return z.array(row).parse([...rows]);
}
