/** The ids in records that lists or people name, and the types of equipment. */
import { type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgColumn } from 'drizzle-orm/pg-core';
import { users } from '../streams/users.ts';
import type { Queryable } from '../database/connection.ts';
import { msOf, partitionOf } from '../database/sql-names.ts';
import { streamState } from './control-tables.ts';
import type { StoredPartition } from '../streams/unread-partitions.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { trainingRecords } from '../streams/completed-trainings.ts';
import {
  equipment,
  equipmentMetavalues,
  equipmentSchedules,
  equipmentsStream,
} from '../streams/equipments.ts';
import { followups } from '../streams/followups.ts';
import { names } from '../streams/names.ts';
import type { NamesState } from '../streams/state.ts';
import { resources } from '../streams/resources.ts';
import { trainingCompletions, trainingEmployeeStatus } from '../streams/training-employee-status.ts';

/** The columns with an id, or with a list of ids. */
const ID_COLUMNS: readonly (readonly [kind: string, column: PgColumn])[] = [
  ['form', followups.form_id],
  ['training', trainingEmployeeStatus.complete_training_ids],
  ['training', trainingEmployeeStatus.incomplete_training_ids],
  ['training', trainingCompletions.training_id],
  ['training', trainingRecords.training_id],
  ['equipment_type', equipment.equipment_type_id],
  ['schedule', equipmentSchedules.schedule_id],
  ['category', resources.category_id],
  ['field_office', equipment.field_office_ids],
  ['field_office', users.field_office_ids],
  ['client', equipment.client_ids],
  ['client', users.client_ids],
  ['line_of_business', equipment.line_of_business_id],
  ['line_of_business', users.line_of_business_ids],
  ['metafield', equipmentMetavalues.metafield_id],
  ['metafield_item', equipmentMetavalues.item_ids],
  ['project', equipment.project_ids],
  ['job_title', users.job_title_id],
  ['role', users.role_id],
];

/**
 * The second column of each primary key is the key of the record. The foreign key of a child table leads to the record, which
 * shows whether it is live.
 */
function selectIds(kind: string, column: PgColumn, accountIds: string): SQL {
  const { table } = column;
  const { primaryKeys, foreignKeys } = getTableConfig(table);
  const record = primaryKeys[0]?.columns[1] ?? column;
  const { foreignTable = table, foreignColumns = [] } = foreignKeys[0]?.reference() ?? {};
  const id = column.getSQLType().endsWith('[]') ? sql`unnest(${column})` : sql`${column}`;
  const join =
    foreignTable === table
      ? sql``
      : sql`join ${foreignTable} on ${foreignTable}.account_id = ${table}.account_id and ${foreignColumns[1]} = ${record}`;
  return sql`select ${table}.account_id, ${kind}::text as kind, ${record} as record, ${id}::text as id
    from ${table} ${join} where ${table}.account_id = any (${accountIds}::text[]) and ${foreignTable}._deleted_at is null`;
}

/** `account_id`, `kind`, `record` and `id` for each id in a live record, once for each place. */
export function selectMetIds(accountIds: readonly string[]): SQL {
  const accounts = toArrayLiteral(accountIds);
  const all = ID_COLUMNS.map(([kind, column]) => selectIds(kind, column, accounts));
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
