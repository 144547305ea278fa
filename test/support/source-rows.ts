/** Converts the service's records to warehouse rows (specification of the fields, contract of the tables). */
import * as wire from './source-wire.ts';
import type { Cell, WireObject } from './source-wire.ts';

export type ExpectedRow = Record<string, Cell>;
/** Rows by table. */
export type ExpectedTables = Record<string, ExpectedRow[]>;

function add(tables: ExpectedTables, table: string, row: ExpectedRow): void {
  (tables[table] ??= []).push(row);
}

/** Oldest first by a time that all items have; else by position, counted from the older end. */
function oldestFirst(items: WireObject[], field: string, oldestIs: 'first' | 'last'): WireObject[] {
  const ordered = oldestIs === 'first' ? items : items.toReversed();
  const times = new Map(ordered.map((item) => [item, wire.ms(item[field])]));
  if ([...times.values()].some((time) => time === null)) return ordered;
  return ordered.toSorted((a, b) => Number(times.get(a)) - Number(times.get(b)));
}

/** Each key once, at the place of its last entry; an exact repetition counts as none. */
function distinct(items: WireObject[], key: (item: WireObject) => string | null): WireObject[] {
  const kept = new Map<string, WireObject>();
  for (const item of items) {
    const name = key(item);
    if (name === null || name === '' || JSON.stringify(kept.get(name)) === JSON.stringify(item)) continue;
    kept.delete(name);
    kept.set(name, item);
  }
  return [...kept.values()];
}

const READERS = {
  id: wire.id,
  text: wire.text,
  ms: wire.ms,
  day: wire.day,
  integer: wire.integer,
  decimal: wire.decimal,
  yes: wire.yes,
  json: wire.json,
  ids: (value: unknown) => wire.listOf(value, wire.id),
  texts: (value: unknown) => wire.listOf(value, wire.text),
  integers: (value: unknown) => wire.listOf(value, wire.integer),
};

/** Reads columns, each as `column=reader`, or `column=reader:field` where the service names it otherwise. */
function columns(spec: string): (record: WireObject) => ExpectedRow {
  const parsed = spec
    .trim()
    .split(/\s+/)
    .map((one) => /^(\w+)=(\w+):?(\w*)$/.exec(one))
    .map((found) => {
      const [, column = '', reader = '', field = ''] = found ?? [];
      return { column, read: READERS[reader as keyof typeof READERS], field: field === '' ? column : field };
    });
  return (record) =>
    Object.fromEntries(parsed.map(({ column, read, field }) => [column, read(record[field])]));
}

const RESOURCE = columns(`id=id title=text created_at=ms:created sequence=integer category_id=id tags=texts
  should_be_available_offline=yes:shouldBeAvailableOffline`);
const VERSION =
  columns(`created_at=ms:created approved_at=ms:approvedOn creator_id=id version=text description=text type=text
  file=text size=integer link=text`);
const FOLLOWUP =
  columns(`id=id form_id=integer response_id=integer is_open=yes:open created_at=ms:created_on updated_at=ms:updated_on
  observer_id=id:m_observer_id assigner_id=id:m_assigner_id assignee_id=id:m_assignee_id due_on=day:due resolved_at=ms:resolved_on
  completer_id=id:m_completer_id is_in_progress=yes:in_progress field_id=id display_id=id:followup_display_id
  is_deleted_at_source=yes:deleted`);
const MESSAGE = columns(
  `id=id sent_at=ms:date user_id=id:m_user_id note=text reassignee_id=id:m_reassignee_id signature=json notify=yes`,
);
const ATTACHMENT = columns('key=text caption=text');
const EMPLOYEE =
  columns(`user_id=id:m_user_id status=text percent_complete=decimal incomplete_training_ids=integers
  complete_training_ids=integers`);
const COMPLETION = columns(`training_id=integer:id completed_on=day:date_number expires_on=day:expiresOn
  starts_expiring_on=day:startsExpiringOn is_required=yes`);
const TRAINING_RECORD =
  columns(`id=id user_id=id:m_user_id training_id=integer completed_on=day:date_number created_at=ms:created
  expires_on=day:special_expiration_date_number instructor_id=id:m_instructor_id group_training_id=integer notes=text`);
const EQUIPMENT =
  columns(`id=id serial_number=text:serialNumber equipment_type_id=id:equipmentType_id created_at=ms:created parent_id=id
  field_office_ids=ids:fieldOffice_id line_of_business_id=id:lineOfBusiness_id client_ids=ids:clients_id
  assigned_user_ids=ids:assignedUsers_id assigned_user_id=id:assignedUser_id title=text notes=text is_in_service=yes:isInService
  status=text`);
const SCHEDULE = columns(
  `schedule_id=id status=text expires_at=ms:expiresOn expiring_at=ms:expiringOn last_completed_at=ms:lastCompletedOn`,
);
const USER =
  columns(`id=id first_name=text:firstname last_name=text:lastname employee_number=text:employeeNumber
  job_title_id=id:jobTitle_id role_id=id field_office_ids=ids:fieldOffice_id line_of_business_ids=ids:lineOfBusiness_id
  client_ids=ids:clients_id supervisor_id=id manager_id=id`);

export function addResource(tables: ExpectedTables, record: WireObject): void {
  const resource = RESOURCE(record);
  add(tables, 'resources', resource);
  const versions = oldestFirst(wire.objectsOf(record['versions']), 'created', 'last');
  versions.forEach((version, index) =>
    add(tables, 'resource_versions', {
      ...VERSION(version),
      resource_id: resource['id'] ?? null,
      ordinal: String(index + 1),
      is_current: index === versions.length - 1,
    }),
  );
}

/** A record that is sent as deleted is no live row. */
export function addFollowup(tables: ExpectedTables, record: WireObject): void {
  if (wire.yes(record['deleted']) === true) return;
  const followup_id = wire.id(record['id']);
  add(tables, 'followups', FOLLOWUP(record));
  const messages = distinct(wire.objectsOf(record['messages']), (message) => wire.id(message['id']));
  oldestFirst(messages, 'date', 'first').forEach((message, index) => {
    add(tables, 'followup_messages', { ...MESSAGE(message), followup_id, position: String(index + 1) });
    const message_id = wire.id(message['id']);
    const sent: unknown[] = Array.isArray(message['attachments']) ? message['attachments'] : [];
    for (const [at, file] of sent.entries()) {
      const place = { followup_id, message_id, position: String(at + 1) };
      if (wire.isObject(file)) add(tables, 'followup_attachments', { ...ATTACHMENT(file), ...place });
    }
  });
}

export function addEmployee(tables: ExpectedTables, record: WireObject): void {
  const employee = EMPLOYEE(record);
  add(tables, 'training_employee_status', employee);
  const completions = distinct(wire.objectsOf(record['last_completed']), (entry) =>
    wire.integer(entry['id']),
  );
  for (const entry of completions)
    add(tables, 'training_completions', { ...COMPLETION(entry), user_id: employee['user_id'] ?? null });
}

export const addCompletion = (tables: ExpectedTables, record: WireObject): void =>
  add(tables, 'training_records', TRAINING_RECORD(record));

const projectId = (value: unknown): string | null => wire.integer(wire.isObject(value) ? value['id'] : value);

export function addEquipment(tables: ExpectedTables, record: WireObject, requestedType: string): void {
  const equipment_id = wire.id(record['id']);
  const metavalues = wire.isObject(record['metavalues']) ? record['metavalues'] : null;
  const ownType = wire.id(record['equipmentType_id']);
  add(tables, 'equipment', {
    ...EQUIPMENT(record),
    equipment_type_id: ownType ?? requestedType,
    project_ids: wire.listOf(record['projects'], projectId),
    metavalues: wire.json(metavalues),
  });
  if (ownType !== null && ownType !== requestedType)
    add(tables, 'equipment_asked_types', { equipment_id, asked_type_id: requestedType });
  for (const schedule of distinct(wire.objectsOf(record['schedules']), (one) => wire.id(one['schedule_id'])))
    add(tables, 'equipment_schedules', { ...SCHEDULE(schedule), equipment_id });
  for (const [metafield_id, value] of Object.entries(metavalues ?? {})) {
    const isText = typeof value === 'string' && value !== 'NULL';
    add(tables, 'equipment_metavalues', {
      ...{ equipment_id, metafield_id },
      number_value: typeof value === 'string' ? null : wire.decimal(value),
      text_value: isText ? value : null,
      item_ids: wire.isObject(value) ? wire.listOf(value['item_ids'], wire.integer) : null,
    });
  }
}

/** Without USERS_KEEP. */
export function addUser(tables: ExpectedTables, record: WireObject): void {
  const user = USER(record);
  const seen = [wire.ms(record['lastWebAccess']), wire.ms(record['lastMobileAccess'])];
  add(tables, 'users', {
    ...user,
    name:
      wire.text(record['name']) ??
      ([user['first_name'], user['last_name']].filter(Boolean).join(' ') || null),
    ...{ email: null, username: null },
    hired_on: dayOf(record['hireDate']),
    terminated_on: dayOf(record['terminationDate']),
    last_seen_at: seen.reduce((one, other) =>
      Number(other ?? -Infinity) > Number(one ?? -Infinity) ? other : one,
    ),
  });
}

const dayOf = (value: unknown): string | null => {
  const ms = wire.ms(value);
  return ms === null || /^\d{8}$/.test(ms)
    ? wire.day(value)
    : new Date(Number(ms)).toISOString().slice(0, 10).replaceAll('-', '');
};
