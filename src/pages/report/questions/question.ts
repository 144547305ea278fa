/** A question that the safety report answers from the warehouse's views: its SQL, and the schema of its rows. */
import { type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { toArrayLiteral } from '../../../engine/database/array-literal.ts';
import type { Queryable } from '../../../engine/database/connection.ts';

export interface Question<Rows extends z.ZodType = z.ZodType> {
  /** The question in plain words. */
  readonly title: string;
  /**
   * Parameters: `$1` is the account, `$2` the selected people (`text[]`). If docs/questions.md has the question, this is its
   * SQL for one account, with time zone and today computed once instead of per row.
   */
  readonly sql: string;
  readonly rows: Rows;
}

export const question = <Columns extends z.ZodRawShape>(title: string, text: string, columns: Columns) => ({
  title,
  sql: text.trim(),
  rows: z.array(z.object(columns)),
});

/** A question with exactly one row as its answer. */
export const figures = <Columns extends z.ZodRawShape>(title: string, text: string, columns: Columns) => ({
  title,
  sql: text.trim(),
  rows: z.tuple([z.object(columns)]),
});

/** Postgres sends `bigint` and `numeric` as text. */
export const number = z.union([z.number(), z.string().transform(Number)]);
export const numberOrNull = z.union([z.null(), number]);
export const text = z.string();
export const textOrNull = z.string().nullable();
/** A day in the account's reporting time zone, for example `2026-03-01`. */
export const day = z.string();
export const dayOrNull = z.string().nullable();

/** Columns that several questions have. */
export const assignee = { assignee_id: textOrNull, assignee_name: textOrNull };
export const employee = { user_id: text, user_name: textOrNull };
export const equipmentType = { equipment_type_id: textOrNull, equipment_type_label: textOrNull };
export const form = { form_id: textOrNull.or(number.transform(String)), form_label: textOrNull };
export const schedule = { schedule_id: text, schedule_label: text };
export const training = { training_id: text, training_label: text };

interface QuestionParameters {
  readonly accountId: string;
  readonly people?: readonly string[];
}

/** The statement with its parameters: `$1` is the account, `$2` are the people. */
export function bind(statement: string, { accountId, people = [] }: QuestionParameters): SQL {
  const pieces = statement.split(/(\$[12])/).map((piece) => {
    if (piece === '$1') return sql`${accountId}`;
    return piece === '$2' ? sql`${toArrayLiteral(people)}::text[]` : sql.raw(piece);
  });
  return sql.join(pieces);
}

type Questions = Readonly<Record<string, Question>>;

/** The rows for each question. */
export type Answers<Asked extends Questions> = {
  readonly [Name in keyof Asked]: Readonly<z.output<Asked[Name]['rows']>>;
};

/** Asks one question after the other. */
export async function ask<Asked extends Questions>(
  db: Pick<Queryable, 'execute'>,
  questions: Asked,
  parameters: QuestionParameters,
): Promise<Answers<Asked>> {
  const answers: Record<string, unknown> = {};
  for (const [name, { sql: statement, rows }] of Object.entries(questions)) {
    answers[name] = rows.parse([...(await db.execute(bind(statement, parameters)))]);
  }
  return answers as Answers<Asked>;
}
