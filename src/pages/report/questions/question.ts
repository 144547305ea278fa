/** A question that the safety report answers from the warehouse's views: its SQL, and the schema of its rows. */
import { type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { toArrayLiteral } from '../../../engine/database/array-literal.ts';
import type { Queryable } from '../../../engine/database/connection.ts';

export interface Question<Rows extends z.ZodType = z.ZodType> {
  /**
   * Parameters: `$1` is the account, `$2` the selected people (`text[]`). If docs/questions.md has the question, this is its
   * SQL for one account, with time zone and today computed once instead of per row.
   */
  readonly sql: string;
  readonly rows: Rows;
}

type Sql = (texts: TemplateStringsArray, ...parts: readonly (string | number)[]) => string;
const joinSql: Sql = (texts, ...parts) => String.raw({ raw: texts }, ...parts).trim();

/** A question by the columns of its rows and its SQL. */
export const question =
  <Columns extends z.ZodRawShape>(columns: Columns) =>
  (...statement: Parameters<Sql>) => ({ sql: joinSql(...statement), rows: z.array(z.object(columns)) });

/** A question with exactly one row as its answer. */
export const figures =
  <Columns extends z.ZodRawShape>(columns: Columns) =>
  (...statement: Parameters<Sql>) => ({ sql: joinSql(...statement), rows: z.tuple([z.object(columns)]) });

/** Postgres sends `bigint` and `numeric` as text. */
const number = z.union([z.number(), z.string().transform(Number)]);
const text = z.string();
const textOrNull = z.string().nullable();

/** Types of columns. */
export const as = {
  number,
  numberOrNull: z.union([z.null(), number]),
  text,
  textOrNull,
  booleanOrNull: z.boolean().nullable(),
  /** A day in the account's reporting time zone, for example `2026-03-01`. */
  day: z.string(),
  dayOrNull: z.string().nullable(),
};

/** Columns that several questions have. */
export const columns = {
  assignee: { assignee_id: textOrNull, assignee_name: textOrNull },
  employee: { user_id: text, user_name: textOrNull },
  equipmentType: { equipment_type_id: textOrNull, equipment_type_label: textOrNull },
  form: { form_id: textOrNull.or(number.transform(String)), form_label: textOrNull },
  /** What a link to a follow-up may need, beside the form. */
  followup: { id: text, response_id: textOrNull.or(number.transform(String)) },
  schedule: { schedule_id: text, schedule_label: text },
  training: { training_id: text, training_label: text },
};

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
