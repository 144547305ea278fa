/** Reads the ids in the warehouse, the number of live records with each, and their labels. */
import { sql, type SQL } from 'drizzle-orm';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { LABEL_KINDS, type LabelKind, labels } from './labels.ts';
import { type IdColumn, ID_COLUMNS } from './label-places.ts';

export interface MetId {
  readonly accountId: string;
  readonly kind: LabelKind;
  readonly id: string;
  /** Number of live records with this id. */
  readonly seen: number;
  /** null: no label. */
  readonly label: string | null;
}

function selectIds({ column, record, parent = record }: IdColumn, accountIds: string): SQL {
  const { table } = column;
  const id = column.getSQLType().endsWith('[]') ? sql`unnest(${column})` : sql`${column}`;
  const join =
    parent.table === table
      ? sql``
      : sql`join ${parent.table} on ${parent.table}.account_id = ${table}.account_id and ${parent} = ${record}`;
  return sql`select ${table}.account_id, ${record} as record, ${id}::text as id
    from ${table} ${join} where ${table}.account_id = any (${accountIds}::text[]) and ${parent.table}._deleted_at is null`;
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
