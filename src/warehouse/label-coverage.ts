/** Reads the ids in the warehouse, the number of live records with each, and their labels. */
import { sql, type SQL } from 'drizzle-orm';
import { getTableConfig, type PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { equipment, equipmentMetavalues, equipmentSchedules } from '../engine/streams/equipments.ts';
import { followups } from '../engine/streams/followups.ts';
import { resources } from '../engine/streams/resources.ts';
import { trainingCompletions, trainingEmployeeStatus } from '../engine/streams/training-employee-status.ts';
import { LABEL_KINDS, type LabelKind, labels } from './labels.ts';

/** Columns with an id of each kind, or with a list of ids. */
const ID_COLUMNS: Readonly<Record<LabelKind, readonly PgColumn[]>> = {
  form: [followups.form_id],
  training: [
    trainingEmployeeStatus.complete_training_ids,
    trainingEmployeeStatus.incomplete_training_ids,
    trainingCompletions.training_id,
  ],
  equipment_type: [equipment.equipment_type_id],
  schedule: [equipmentSchedules.schedule_id],
  category: [resources.category_id],
  field_office: [equipment.field_office_ids],
  client: [equipment.client_ids],
  line_of_business: [equipment.line_of_business_id],
  metafield: [equipmentMetavalues.metafield_id],
  metafield_item: [equipmentMetavalues.item_ids],
};

export interface MetId {
  readonly accountId: string;
  readonly kind: LabelKind;
  readonly id: string;
  /** Number of live records with this id. */
  readonly seen: number;
  /** null: no label. */
  readonly label: string | null;
}

/**
 * The second column of each primary key is the key of the record, so several ids in one record count once. The foreign key
 * of a child table leads to the record, which shows whether it is live.
 */
function selectIds(column: PgColumn, accountIds: string): SQL {
  const { table } = column;
  const { primaryKeys, foreignKeys } = getTableConfig(table);
  const record = primaryKeys[0]?.columns[1] ?? column;
  const { foreignTable = table, foreignColumns = [] } = foreignKeys[0]?.reference() ?? {};
  const id = column.getSQLType().endsWith('[]') ? sql`unnest(${column})` : sql`${column}`;
  const join =
    foreignTable === table
      ? sql``
      : sql`join ${foreignTable} on ${foreignTable}.account_id = ${table}.account_id and ${foreignColumns[1]} = ${record}`;
  return sql`select ${table}.account_id, ${record} as record, ${id}::text as id
    from ${table} ${join} where ${table}.account_id = any (${accountIds}::text[]) and ${foreignTable}._deleted_at is null`;
}

/** By kind, most used first. */
export async function readMetIds(db: Queryable, accountIds: readonly string[]): Promise<MetId[]> {
  let met: MetId[] = [];
  for (const kind of LABEL_KINDS) {
    const ids = ID_COLUMNS[kind].map((column) => selectIds(column, toArrayLiteral(accountIds)));
    // A record with the same id in several columns counts once.
    const rows = await db.execute<MetId & Record<string, unknown>>(
      sql`select m.account_id as "accountId", ${kind}::text as kind, m.id, m.seen::int as seen, l.label from (
          select u.account_id, u.id, count(*) as seen from (${sql.join(ids, sql` union `)}) u
          where u.id <> '' group by u.account_id, u.id
        ) m left join ${labels} l on l.account_id = m.account_id and l.kind = ${kind} and l.id = m.id
        order by m.seen desc, m.id`,
    );
    met = met.concat(rows);
  }
  return met;
}
