/** The ids in records that lists or people name, and the types of equipment. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { keyColumn, msOf, partitionOf } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { streamState } from './control-tables.ts';
import type { StoredPartition } from '../streams/unread-partitions.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { equipment, equipmentsStream } from '../streams/equipments.ts';
import { STREAMS } from '../streams/index.ts';
import { names } from '../streams/names.ts';
import { kindsOf, NAMING_LISTS } from '../streams/optional-methods.ts';
import type { NamesState } from '../streams/state.ts';

/** Nothing but labels names a category. */
const KINDS = new Set(['category', ...NAMING_LISTS.flatMap(kindsOf)]);
/** Columns that are not called after the kind of their ids. */
const KIND_OF: Readonly<Record<string, string>> = {
  complete_training: 'training',
  incomplete_training: 'training',
  item: 'metafield_item',
};

/** The columns with an id, or with a list of ids: `KIND_id`, `KIND_ids`. */
const ID_COLUMNS = STREAMS.flatMap(({ parent, children }) =>
  [parent, ...children].flatMap((table) =>
    Object.values(getTableColumns(table)).flatMap((column) => {
      const [, name = ''] = /^(.+)_ids?$/.exec(column.name) ?? [];
      const kind = KIND_OF[name] ?? name;
      return KINDS.has(kind) ? [{ kind, column, table, parent }] : [];
    }),
  ),
);

/** `account_id`, `kind`, `record` and `id` for each id in a live record, once for each place. */
export function selectMetIds(accountIds: readonly string[]): SQL {
  const accounts = toArrayLiteral(accountIds);
  const all = ID_COLUMNS.map(({ kind, column, table, parent }) => {
    const id = column.getSQLType().endsWith('[]') ? sql`unnest(${column})` : sql`${column}`;
    const key = keyColumn(tableShape(table));
    // The record shows whether it is live.
    const join = sql`join ${parent} on ${parent}.account_id = ${table}.account_id and ${parent}.${keyColumn(tableShape(parent))} = ${table}.${key}`;
    return sql`select ${table}.account_id, ${kind}::text as kind, ${table}.${key} as record, ${id}::text as id
      from ${table} ${table === parent ? sql`` : join}
      where ${table}.account_id = any (${accounts}::text[]) and ${parent}._deleted_at is null`;
  });
  return sql`select * from (${sql.join(all, sql` union all `)}) m where m.id <> ''`;
}

export async function readNamesState(db: Queryable, accountId: string): Promise<NamesState> {
  const live = await db.execute<{ kind: string; count: number; lists: string[] | null }>(sql`
    select kind, count(*)::int as count, jsonb_agg(distinct _raw ->> 'list_id')
        filter (where kind = 'metafield' and _raw ->> 'list_id' <> '') as lists
    from ${names} where account_id = ${accountId} and _deleted_at is null group by kind`);
  const unnamed = await db.execute<{ key: string }>(sql`
    select m.kind || ':' || m.id as key from (${selectMetIds([accountId])}) m
    except select _key from ${names} where account_id = ${accountId}`);
  return {
    live: Object.fromEntries(live.map(({ kind, count }) => [kind, count])),
    unnamed: unnamed.map(({ key }) => key),
    dataLists: live.flatMap(({ lists }) => lists ?? []),
  };
}

/**
 * Counts the rows of each equipment type of each account. A row belongs to the type with the request that returned it, as in the
 * coverage of a snapshot.
 */
export async function readStoredPartitions(db: Queryable, accountIds: readonly string[]) {
  const { partition, join } = partitionOf(equipmentsStream);
  return await db.execute<StoredPartition>(sql`
    select p.account_id as "accountId", p.partition, p.live, ${msOf('(s.read_parts ->> p.partition)::timestamptz')} as "readAtMs" from (
      select t.account_id, ${partition} as partition, count(*) filter (where t._deleted_at is null)::int as live
      from ${equipment} t ${join}
      where t.account_id = any (${toArrayLiteral(accountIds)}::text[]) group by 1, 2) p
    left join ${streamState} s on s.account_id = p.account_id and s.stream = ${equipmentsStream.name}
    where p.partition is not null order by p.account_id, p.partition`);
}

export async function readTypes(db: Queryable, accountId: string) {
  const named = await db.execute<{ id: string }>(sql`
    select id from ${names} where account_id = ${accountId} and kind = 'equipment_type' and _deleted_at is null order by id`);
  const stored = await readStoredPartitions(db, [accountId]);
  return { named: named.map(({ id }) => id), stored };
}
