/** Equipment with its inspection schedules and metavalues (specification: equipments.list). */
import { boolean, foreignKey, index, numeric, primaryKey, text } from 'drizzle-orm/pg-core';
import { EQUIPMENT } from '../dictionary/equipment.ts';
import {
  accountId,
  bigintText,
  bookkeeping,
  instant,
  json,
  safetySchema,
  statePeriod,
  stateStart,
} from './columns.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import { keyedItems } from './keyed-items.ts';
import type { ReportIssue, RowOf, StreamDefinition, WireRecord } from './stream.ts';
import * as wire from './wire.ts';
import { as, entriesOf, itemsOf, readFields } from './read-fields.ts';
import { describeValue, isWireRecord } from './wire.ts';

const equipmentColumns = () => ({
  account_id: accountId(),
  id: text().notNull(),
  serial_number: text(),
  equipment_type_id: text(),
  created_at: instant(),
  parent_id: text(),
  field_office_ids: text().array(),
  line_of_business_id: text(),
  client_ids: text().array(),
  assigned_user_ids: text().array(),
  title: text(),
  notes: text(),
  is_in_service: boolean(),
  metavalues: json(),
  status: text(),
});

export const equipment = safetySchema.table(
  'equipment',
  {
    ...equipmentColumns(),
    ...stateStart(),
    ...bookkeeping(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.id] }), index('equipment_type_idx').on(t.equipment_type_id)],
);

/** Superseded states; with the present ones they are `equipment_history`. */
export const equipmentStates = safetySchema.table(
  'equipment_states',
  { ...equipmentColumns(), ...statePeriod() },
  (t) => [primaryKey({ columns: [t.account_id, t.id, t.valid_from] })],
);

const scheduleColumns = () => ({
  account_id: accountId(),
  equipment_id: text().notNull(),
  schedule_id: text().notNull(),
  status: text(),
  expires_at: instant(),
  expiring_at: instant(),
  last_completed_at: instant(),
});

export const equipmentSchedules = safetySchema.table(
  'equipment_schedules',
  { ...scheduleColumns(), ...stateStart() },
  (t) => [
    primaryKey({ columns: [t.account_id, t.equipment_id, t.schedule_id] }),
    foreignKey({
      name: 'equipment_schedules_equipment_fk',
      columns: [t.account_id, t.equipment_id],
      foreignColumns: [equipment.account_id, equipment.id],
    }).onDelete('cascade'),
    index('equipment_schedules_expires_idx').on(t.expires_at),
  ],
);

/** States that were superseded or ended; with the present ones they are `equipment_schedule_history`. */
export const equipmentScheduleStates = safetySchema.table(
  'equipment_schedule_states',
  { ...scheduleColumns(), ...statePeriod() },
  (t) => [
    primaryKey({
      name: 'equipment_schedule_states_pk',
      columns: [t.account_id, t.equipment_id, t.schedule_id, t.valid_from],
    }),
  ],
);

export const equipmentMetavalues = safetySchema.table(
  'equipment_metavalues',
  {
    account_id: accountId(),
    equipment_id: text().notNull(),
    metafield_id: text().notNull(),
    number_value: numeric(),
    text_value: text(),
    item_ids: bigintText().array(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.equipment_id, t.metafield_id] }),
    foreignKey({
      name: 'equipment_metavalues_equipment_fk',
      columns: [t.account_id, t.equipment_id],
      foreignColumns: [equipment.account_id, equipment.id],
    }).onDelete('cascade'),
  ],
);

/** One row at most for a piece of equipment: where its `equipment_type_id` is not the type that was asked for. */
export const equipmentAskedTypes = safetySchema.table(
  'equipment_asked_types',
  { account_id: accountId(), equipment_id: text().notNull(), asked_type_id: text().notNull() },
  (t) => [
    primaryKey({ columns: [t.account_id, t.equipment_id] }),
    foreignKey({
      name: 'equipment_asked_types_equipment_fk',
      columns: [t.account_id, t.equipment_id],
      foreignColumns: [equipment.account_id, equipment.id],
    }).onDelete('cascade'),
  ],
);

const status = wire.oneOf(['uptodate', 'expiring', 'expired']);

const scheduleFields = {
  schedule_id: wire.key,
  status,
  expiresOn: as('expires_at', wire.instant),
  expiringOn: as('expiring_at', wire.instant),
  lastCompletedOn: as('last_completed_at', wire.instant),
};

/** The column that holds what an entry of `metavalues` says; null: it is empty, or nothing that is known. */
function metavalueColumn(value: unknown): 'number_value' | 'text_value' | 'item_ids' | null {
  if (typeof value === 'number' || value instanceof ExactNumber) return 'number_value';
  if (typeof value === 'string') return value === 'NULL' ? null : 'text_value';
  return isWireRecord(value) && Array.isArray(value['item_ids']) ? 'item_ids' : null;
}

const equipmentFields = {
  id: wire.key,
  serialNumber: as('serial_number', wire.text),
  equipmentType_id: as('equipment_type_id', wire.identifier),
  created: as('created_at', wire.instant),
  parent_id: wire.identifier,
  fieldOffice_id: as('field_office_ids', wire.list(wire.identifier)),
  lineOfBusiness_id: as('line_of_business_id', wire.identifier),
  clients_id: as('client_ids', wire.list(wire.identifier)),
  assignedUsers_id: as('assigned_user_ids', wire.list(wire.identifier)),
  title: wire.text,
  notes: wire.text,
  isInService: as('is_in_service', wire.boolean),
  metavalues: entriesOf(equipmentMetavalues, metavalueColumn),
  status,
  schedules: itemsOf(equipmentSchedules, scheduleFields),
};

const itemIdsField = wire.list(wire.bigint);

type MetavalueRow = RowOf<typeof equipmentMetavalues>;

/** A number, a text, an object with `item_ids`, or empty: null, or the text `NULL` (specification, include_null_metavalues). */
function toMetavalueRow(
  base: { equipment_id: string; metafield_id: string },
  value: unknown,
  report: ReportIssue,
): MetavalueRow {
  const empty: MetavalueRow = { ...base, number_value: null, text_value: null, item_ids: null };
  const field = `metavalues.${base.metafield_id}`;
  const column = metavalueColumn(value);
  if (value === null || value === 'NULL') return empty;
  if (column === 'number_value') {
    const number = wire.numeric.read(value, (problem) =>
      report({ kind: 'field_nulled', field, problem, value }),
    );
    return { ...empty, number_value: number };
  }
  if (column === 'text_value') return { ...empty, text_value: value as string };
  if (column === 'item_ids') {
    const itemIds = itemIdsField.read((value as WireRecord)['item_ids'], (problem, detail) =>
      report({
        kind: 'field_nulled',
        field: `${field}.item_ids${detail?.suffix ?? ''}`,
        problem,
        value: detail?.value ?? null,
      }),
    );
    return { ...empty, item_ids: itemIds };
  }
  report({
    kind: 'field_nulled',
    field,
    problem: `expected a number, text or an object with item_ids, got ${describeValue(value)}`,
    value,
  });
  return empty;
}

function toMetavalueRows(
  equipmentId: string,
  metavalues: WireRecord | null,
  report: ReportIssue,
): MetavalueRow[] {
  return Object.entries(metavalues ?? {}).flatMap(([name, value]) => {
    const metafieldId = wire.key.read(name, (problem) =>
      report({ kind: 'record_rejected', field: 'metavalues', problem, value: { [name]: value } }),
    );
    return metafieldId === null
      ? []
      : [toMetavalueRow({ equipment_id: equipmentId, metafield_id: metafieldId }, value, report)];
  });
}

const ownType = (record: WireRecord): string | null =>
  wire.identifier.read(record['equipmentType_id'], () => undefined);

export const equipmentsStream: StreamDefinition = {
  name: 'equipments',
  contents: 'equipment',
  descriptions: EQUIPMENT,
  method: 'equipments.list',
  responseKey: 'equipments',
  readMode: { kind: 'snapshot', per: 'equipment_type' },
  partition: { column: 'equipment_type_id', asked: equipmentAskedTypes },
  keyField: 'id',
  keyColumn: 'id',
  parent: equipment,
  fields: equipmentFields,
  children: [equipmentSchedules, equipmentMetavalues, equipmentAskedTypes],
  versionColumn: null,
  contextColumns: [],
  histories: [
    { of: equipment, states: equipmentStates, since: null, untracked: [] },
    { of: equipmentSchedules, states: equipmentScheduleStates, since: null, untracked: [] },
  ],
  identityFields: ['serialNumber', 'created'],
  takenFromQuestion: (record, { equipmentTypeId = null }) =>
    ownType(record) === equipmentTypeId ? null : equipmentTypeId,
  userIdColumns: [{ table: equipment, column: 'assigned_user_ids' }],
  version: 1,
  toRows(record, context, report) {
    const fields = readFields(equipmentFields, record, { report });
    const id = fields.id ?? '';
    const asked = context.equipmentTypeId ?? null;
    const type = fields.equipment_type_id ?? asked;
    const parent: RowOf<typeof equipment> = {
      id,
      serial_number: fields.serial_number,
      // The response holds the equipment of one type only: where the record does not say its type, the question does.
      equipment_type_id: type,
      created_at: fields.created_at,
      parent_id: fields.parent_id,
      field_office_ids: fields.field_office_ids,
      line_of_business_id: fields.line_of_business_id,
      client_ids: fields.client_ids,
      assigned_user_ids: fields.assigned_user_ids,
      title: fields.title,
      notes: fields.notes,
      is_in_service: fields.is_in_service,
      metavalues: fields.metavalues,
      status: fields.status,
    };
    const schedules = keyedItems({
      items: fields.schedules,
      list: 'schedules',
      keyField: 'schedule_id',
      key: wire.key,
      report,
    }).map(({ key, item }): RowOf<typeof equipmentSchedules> => {
      const schedule = readFields(scheduleFields, item.record, { report, at: `schedules[${item.index}]` });
      return {
        equipment_id: id,
        schedule_id: key,
        status: schedule.status,
        expires_at: schedule.expires_at,
        expiring_at: schedule.expiring_at,
        last_completed_at: schedule.last_completed_at,
      };
    });
    const metavalues = toMetavalueRows(id, fields.metavalues, report);
    const askedTypes: RowOf<typeof equipmentAskedTypes>[] =
      asked === null || asked === type ? [] : [{ equipment_id: id, asked_type_id: asked }];
    return { parent, children: [schedules, metavalues, askedTypes] };
  },
};
