/** Reads the ids in the warehouse, the number of live records with each, and their labels. */
import { sql, type SQL } from 'drizzle-orm';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { LABEL_KINDS, type LabelKind, labels } from './labels.ts';
import { name } from '../engine/database/sql-names.ts';
import { namesOf, type IdColumn, ID_COLUMNS } from './label-places.ts';

export interface MetId {
  readonly accountId: string;
  readonly kind: LabelKind;
  readonly id: string;
  /** Number of live records with this id. */
  readonly seen: number;
  /** null: no label. */
  readonly label: string | null;
}

function selectIds(place: IdColumn, accountIds: string): SQL {
  const { table, column, isList, record, parent } = namesOf(place);
  const id = isList ? sql`unnest(t.${name(column)})` : sql`t.${name(column)}`;
  const join =
    parent === null
      ? sql``
      : sql`join safety.${name(parent.table)} p on p.account_id = t.account_id and p.${name(parent.key)} = t.${name(record)}`;
  const live = parent === null ? sql`t._deleted_at` : sql`p._deleted_at`;
  return sql`select t.account_id, t.${name(record)} as record, ${id}::text as id
    from safety.${name(table)} t ${join} where t.account_id = any (${accountIds}::text[]) and ${live} is null`;
}

/** By kind, most used first. */
export async function readMetIds(db: Queryable, accountIds: readonly string[]): Promise<MetId[]> {
  let met: MetId[] = [];
  for (const kind of LABEL_KINDS) {
    const places = ID_COLUMNS[kind].map((place) => selectIds(place, toArrayLiteral(accountIds)));
    // A record with the same id in several columns counts once.
    const rows = await db.execute<MetId & Record<string, unknown>>(
      sql`select m.account_id as "accountId", ${kind}::text as kind, m.id, m.seen::int as seen, l.label from (
          select u.account_id, u.id, count(*) as seen from (${sql.join(places, sql` union `)}) u
          where u.id <> '' group by u.account_id, u.id
        ) m left join ${labels} l on l.account_id = m.account_id and l.kind = ${kind} and l.id = m.id
        order by m.seen desc, m.id`,
    );
    met = met.concat(rows);
  }
  return met;
}
