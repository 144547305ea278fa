/** Reads the ids in the warehouse, the number of live records with each, their labels and names. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { selectMetIds } from '../engine/control-tables/met-ids.ts';
import { names } from '../engine/streams/names.ts';
import { LABEL_KINDS, type LabelKind, labels } from './labels.ts';

export interface MetId {
  readonly accountId: string;
  readonly kind: LabelKind;
  readonly id: string;
  /** Number of live records with this id. */
  readonly seen: number;
  /** By hand; null: none. */
  readonly label: string | null;
  /** By the service; null: none. */
  readonly name: string | null;
}

/** Most used first. A record with one id in several places counts once: distinct rows first, because aggregates of distinct values sort. */
export async function readMetIds(db: Queryable, accountIds: readonly string[]): Promise<MetId[]> {
  return await db.execute<MetId & Record<string, unknown>>(sql`
    select m.account_id as "accountId", m.kind, m.id, m.seen::int as seen, l.label, n.name from (
      select u.account_id, u.kind, u.id, count(*) as seen from (select distinct * from (${selectMetIds(accountIds)}) d) u
      where u.kind = any (${toArrayLiteral(LABEL_KINDS)}::text[]) group by u.account_id, u.kind, u.id
    ) m left join ${labels} l on l.account_id = m.account_id and l.kind = m.kind and l.id = m.id
    left join ${names} n on n.account_id = m.account_id and n._key = m.kind || ':' || m.id
    order by m.seen desc, m.kind, m.id`);
}
