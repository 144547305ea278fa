/** Equipment with its inspection schedules and metavalues (specification: equipments.list). */
import { index, numeric, text } from 'drizzle-orm/pg-core';
import { describeEquipment } from '../../dictionary/equipment.ts';
import { bookkeeping, safetyTable, statePeriod, stateStart, idText } from './columns.ts';
import {
  as,
  column,
  fieldEntries,
  field,
  itemsOf,
  kind,
  meaningsOf,
  childOf,
  tableColumns,
} from './fields.ts';
import type { Received } from '../../shared/received.ts';
import type { AddIssue, RowOf, StreamDefinition, WireRecord } from './stream.ts';
import * as wire from './wire.ts';
import { addColumns, fieldReader, itemsReader } from './read-fields.ts';
import { describeValue, isWireRecord } from './wire.ts';

const status = as.oneOf('uptodate', 'expiring', 'expired');
const STATUSES = 'uptodate, expiring or expired; others are kept as they come.';

/** A value by itself, or in an object under this name. */
const inside = <T>(name: string, { read }: wire.Field<T>): wire.Field<T> => ({
  read: (value, addProblem) => read(isWireRecord(value) ? value[name] : value, addProblem),
});

const projectIds = kind(wire.list(inside('id', wire.bigint)), as.bigints.build);

const equipmentFields = {
  id: field('id', as.key, 'Identifier of the equipment.'),
  serial_number: field('serialNumber', as.text, 'Serial number.'),
  equipment_type_id: field('equipmentType_id', as.identifier, 'Type.', 'else the requested type.'),
  created_at: field('created', as.instant, 'When it was created at the source.'),
  parent_id: field('parent_id', as.identifier, 'Equipment that it is part of: equipment.id; may be empty.'),
  field_office_ids: field('fieldOffice_id', as.identifiers, 'Field offices; rows: equipment_field_offices.'),
  line_of_business_id: field('lineOfBusiness_id', as.identifier, 'Line of business.'),
  client_ids: field('clients_id', as.identifiers, 'Clients; rows: equipment_clients.'),
  assigned_user_ids: field('assignedUsers_id', as.userIds, 'Holders; rows: equipment_assigned_users.'),
  title: field('title', as.text, 'Title.'),
  notes: field('notes', as.text, 'Notes.'),
  is_in_service: field('isInService', as.boolean, 'Whether it is in service.'),
  metavalues: field('metavalues', as.object, 'Fields of its type, as sent; rows: equipment_metavalues.'),
  assigned_user_id: field('assignedUser_id', as.userId, 'Person that it is assigned to: users.id.'),
  project_ids: field('projects', projectIds, 'Ids of the projects; equipment_projects has one row for each.'),
  status: field('status', status, `Worst of its inspections: ${STATUSES}`),
};

export const equipment = safetyTable(
  'equipment',
  ['id'],
  { ...tableColumns(equipmentFields), ...stateStart(), ...bookkeeping() },
  (t) => [index('equipment_type_idx').on(t.equipment_type_id)],
);

/** Superseded states; with the present ones they are `equipment_history`. */
export const equipmentStates = safetyTable('equipment_states', ['id', 'valid_from'], {
  ...tableColumns(equipmentFields),
  ...statePeriod(),
});

const equipment_id = column(() => idText().notNull(), 'Equipment: equipment.id.');

const DOES_NOT_EXPIRE = 'null when it does not expire.';
const scheduleFields = {
  schedule_id: field('schedule_id', as.key, 'Inspection schedule.'),
  status: field('status', status, STATUSES),
  expires_at: field('expiresOn', as.instant, 'When the inspection expires.', DOES_NOT_EXPIRE),
  expiring_at: field('expiringOn', as.instant, 'When it begins to expire.', DOES_NOT_EXPIRE),
  last_completed_at: field('lastCompletedOn', as.instant, 'When it was last done.', 'null if never.'),
};

const scheduleColumns = { equipment_id, ...scheduleFields };

export const equipmentSchedules = safetyTable(
  'equipment_schedules',
  ['equipment_id', 'schedule_id'],
  { ...tableColumns(scheduleColumns), ...stateStart() },
  (t) => [
    childOf(equipment, [t.account_id, t.equipment_id], 'equipment_schedules_equipment_fk'),
    index('equipment_schedules_expires_idx').on(t.expires_at),
  ],
);

/** States that were superseded or ended; with the present ones they are `equipment_schedule_history`. */
export const equipmentScheduleStates = safetyTable(
  'equipment_schedule_states',
  ['equipment_id', 'schedule_id', 'valid_from'],
  { ...tableColumns(scheduleColumns), ...statePeriod() },
);

const metavalueColumns = {
  equipment_id,
  metafield_id: column(() => idText().notNull(), 'The field. Source: key in metavalues.'),
  number_value: column(() => numeric(), 'The value of the field if it is a number; otherwise null.'),
  text_value: column(() => text(), 'The value of the field if it is a text; otherwise null.'),
  item_ids: column(as.bigints.build, 'Chosen items. Source: item_ids; otherwise null.'),
};

export const equipmentMetavalues = safetyTable(
  'equipment_metavalues',
  ['equipment_id', 'metafield_id'],
  tableColumns(metavalueColumns),
  (t) => [childOf(equipment, [t.account_id, t.equipment_id], 'equipment_metavalues_equipment_fk')],
);

const askedTypeColumns = {
  equipment_id,
  asked_type_id: column(as.key.build, 'Requested type, where the record names another one.'),
};

/** At most one row for a piece of equipment, if its `equipment_type_id` differs from the requested type. */
export const equipmentAskedTypes = safetyTable(
  'equipment_asked_types',
  ['equipment_id'],
  tableColumns(askedTypeColumns),
  (t) => [childOf(equipment, [t.account_id, t.equipment_id], 'equipment_asked_types_equipment_fk')],
);

/** The column for the value of an entry of `metavalues`; null: the value is empty or unknown. */
function metavalueColumn(value: unknown): 'number_value' | 'text_value' | 'item_ids' | null {
  if (typeof value === 'number') return 'number_value';
  if (typeof value === 'string') return value === 'NULL' ? null : 'text_value';
  return isWireRecord(value) && Array.isArray(value['item_ids']) ? 'item_ids' : null;
}

const recordFields = {
  ...equipmentFields,
  metavalues: fieldEntries(equipmentMetavalues, metavalueColumn),
  schedules: itemsOf(equipmentSchedules, scheduleFields),
};

type MetavalueRow = RowOf<typeof equipmentMetavalues>;

const metavalueFields = {
  number_value: wire.numeric,
  text_value: wire.text,
  item_ids: inside('item_ids', wire.list(wire.bigint)),
};

/** A number, a text, an object with `item_ids`, or empty: null, or the text `NULL` (specification, include_null_metavalues). */
function toMetavalueRows(
  equipment_id: string,
  metavalues: WireRecord | null,
  addIssue: AddIssue,
): MetavalueRow[] {
  return Object.entries(metavalues ?? {}).flatMap(([name, value]): MetavalueRow[] => {
    const metafield_id = wire.key.read(name, (problem) =>
      addIssue({ kind: 'record_rejected', field: 'metavalues', problem, value: { [name]: value } }),
    );
    if (metafield_id === null) return [];
    const addProblem: wire.AddProblem = (problem, detail = { value }) =>
      addIssue({
        kind: 'field_nulled',
        field: `metavalues.${metafield_id}${detail.suffix ?? ''}`,
        problem,
        value: detail.value,
      });
    const row = { equipment_id, metafield_id, number_value: null, text_value: null, item_ids: null };
    const column = metavalueColumn(value);
    if (column !== null) return [{ ...row, [column]: metavalueFields[column].read(value, addProblem) }];
    if (value !== null && value !== 'NULL')
      addProblem(`expected a number, text or an object with item_ids, got ${describeValue(value)}`);
    return [row];
  });
}

const ownType = (record: Received): string | null =>
  wire.identifier.read(record.field('equipmentType_id'), () => undefined);

const readRecord = fieldReader(recordFields);
const readSchedules = itemsReader('schedules', scheduleFields.schedule_id, scheduleFields);

export const equipmentsStream: StreamDefinition = {
  name: 'equipments',
  contents: 'equipment',
  descriptions: describeEquipment({
    equipment: meaningsOf(equipmentFields),
    equipment_schedules: meaningsOf(scheduleColumns),
    equipment_metavalues: meaningsOf(metavalueColumns),
    equipment_asked_types: meaningsOf(askedTypeColumns),
  }),
  method: 'equipments.list',
  responseKey: 'equipments',
  readMode: { kind: 'snapshot' },
  optionalMethods: ['equipmenttypes.list'],
  partitionedBy: { column: 'equipment_type_id', requested: equipmentAskedTypes },
  keyField: 'id',
  peekFields: ['equipmentType_id'],
  parent: equipment,
  fields: recordFields,
  children: [equipmentSchedules, equipmentMetavalues, equipmentAskedTypes],
  histories: [
    { of: equipment, states: equipmentStates, since: null },
    { of: equipmentSchedules, states: equipmentScheduleStates, since: null },
  ],
  takenFromRequest: (record, { equipmentTypeId = null }) =>
    ownType(record) === equipmentTypeId ? null : equipmentTypeId,
  normalizerVersion: 1,
  toRows(record, context, addIssue) {
    const fields = readRecord(record, addIssue);
    const { id } = fields;
    const requested = context.equipmentTypeId ?? null;
    const type = fields.equipment_type_id ?? requested;
    // The response contains the equipment of one type only, so a record without a type gets the requested one.
    const parent: RowOf<typeof equipment> = addColumns(fields, { equipment_type_id: type });
    const schedules = readSchedules(fields.schedules, addIssue).map(
      ({ fields: schedule }): RowOf<typeof equipmentSchedules> => addColumns(schedule, { equipment_id: id }),
    );
    const metavalues = toMetavalueRows(id, fields.metavalues, addIssue);
    const askedTypes: RowOf<typeof equipmentAskedTypes>[] =
      requested === null || requested === type ? [] : [{ equipment_id: id, asked_type_id: requested }];
    return { parent, children: [schedules, metavalues, askedTypes] };
  },
};
