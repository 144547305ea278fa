/** Counts the ids of each kind in the warehouse, and those of them with a label or a name. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { selectMetIds } from '../engine/control-tables/met-ids.ts';
import { names } from '../engine/streams/names.ts';
import { LABEL_KINDS, type LabelKind, labels } from './labels.ts';

interface KindCoverage extends Record<string, unknown> {
  readonly account_id: string;
  readonly kind: LabelKind;
  /** How many ids are in live records, have a label, and have a name of the service. */
  readonly ids: number;
  readonly labelled: number;
  readonly named: number;
  /** Ids with neither, and the number of live records with each, most used first. */
  readonly unlabelled: readonly { readonly id: string; readonly seen: number }[];
}

/** A record with one id in several places counts once: distinct rows first, because aggregates of distinct values sort. */
export const readCoverage = (db: Queryable, accountIds: readonly string[]) =>
  db.execute<KindCoverage>(sql`
    select a.account_id, k.kind, count(m.id)::int as ids, count(l.label)::int as labelled, count(n.name)::int as named,
      coalesce(json_agg(json_build_object('id', m.id, 'seen', m.seen) order by m.seen desc, m.id)
        filter (where m.id is not null and l.label is null and n.name is null), '[]') as unlabelled
    from unnest(${toArrayLiteral(accountIds)}::text[]) with ordinality a (account_id, place)
    cross join unnest(${toArrayLiteral(LABEL_KINDS)}::text[]) with ordinality k (kind, place)
    left join (
      select u.account_id, u.kind, u.id, count(*) as seen from (select distinct * from (${selectMetIds(accountIds)}) d) u
      group by u.account_id, u.kind, u.id
    ) m on m.account_id = a.account_id and m.kind = k.kind
    left join ${labels} l on l.account_id = m.account_id and l.kind = m.kind and l.id = m.id
    left join ${names} n on n.account_id = m.account_id and n._key = m.kind || ':' || m.id
    group by a.account_id, a.place, k.kind, k.place order by a.place, k.place`);
