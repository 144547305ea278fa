/** The SQL that the report asks the warehouse's views, and its parameters. */
import { type SQL, sql } from 'drizzle-orm';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import type { Queryable } from '../../engine/database/connection.ts';

export type Readable = Pick<Queryable, 'execute'>;

/** The people and equipment that a report covers. */
export interface Scope {
  /** `$1` */
  readonly accountId: string;
  /** `$2`: the people of an area; null: all. */
  readonly people: readonly string[] | null;
  /** `$3`: the equipment of an area; null: all. */
  readonly equipment: readonly string[] | null;
}

/** Once for a statement, not for each row. */
export const TODAY = '(select safety.reporting_today($1))';

/** The person responsible for a follow-up `o`: its assignee, else its assigner. */
export const HOLDER = `coalesce(nullif(o.assignee_id, ''), o.assigner_id)`;

export const ofPeople = (column: string): string => `($2::text[] is null or ${column} = any ($2::text[]))`;
export const ofEquipment = (column: string): string => `($3::text[] is null or ${column} = any ($3::text[]))`;

export function bind(statement: string, { accountId, people, equipment }: Scope): SQL {
  const idsOf = (ids: readonly string[] | null): SQL => sql`${ids === null ? null : toArrayLiteral(ids)}`;
  const parameters: Readonly<Record<string, SQL>> = {
    $1: sql`${accountId}`,
    $2: idsOf(people),
    $3: idsOf(equipment),
  };
  return sql.join(statement.split(/(\$[123])/).map((piece) => parameters[piece] ?? sql.raw(piece)));
}
