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

/** Each key once: the last entry wins. */
function distinct(items: WireObject[], key: (item: WireObject) => string | null): WireObject[] {
  const kept = new Map<string, WireObject>();
  for (const item of items) {
    const name = key(item);
    if (name !== null && name !== '') kept.set(name, item);
  }
  return [...kept.values()];
}

export function addResource(tables: ExpectedTables, record: WireObject): void {
  const id = wire.id(record['id']);
  add(tables, 'resources', {
    id,
    title: wire.text(record['title']),
    created_at: wire.ms(record['created']),
    sequence: wire.integer(record['sequence']),
    category_id: wire.id(record['category_id']),
    tags: wire.listOf(record['tags'], wire.text),
    should_be_available_offline: wire.yes(record['shouldBeAvailableOffline']),
  });
  const versions = oldestFirst(wire.objectsOf(record['versions']), 'created', 'last');
  versions.forEach((version, index) =>
    add(tables, 'resource_versions', {
      resource_id: id,
      ordinal: String(index + 1),
      is_current: index === versions.length - 1,
      created_at: wire.ms(version['created']),
      approved_at: wire.ms(version['approvedOn']),
      creator_id: wire.id(version['creator_id']),
      version: wire.text(version['version']),
      description: wire.text(version['description']),
      type: wire.text(version['type']),
      file: wire.text(version['file']),
      size: wire.integer(version['size']),
      link: wire.text(version['link']),
    }),
  );
}

/** A record that is sent as deleted is no live row. */
export function addFollowup(tables: ExpectedTables, record: WireObject): void {
  if (wire.yes(record['deleted']) === true) return;
  const id = wire.id(record['id']);
  add(tables, 'followups', {
    id,
    form_id: wire.integer(record['form_id']),
    response_id: wire.integer(record['response_id']),
    is_open: wire.yes(record['open']),
    created_at: wire.ms(record['created_on']),
    updated_at: wire.ms(record['updated_on']),
    observer_id: wire.id(record['m_observer_id']),
    assigner_id: wire.id(record['m_assigner_id']),
    assignee_id: wire.id(record['m_assignee_id']),
    due_on: wire.day(record['due']),
    resolved_at: wire.ms(record['resolved_on']),
    completer_id: wire.id(record['m_completer_id']),
    is_in_progress: wire.yes(record['in_progress']),
    field_id: wire.id(record['field_id']),
    display_id: wire.id(record['followup_display_id']),
    is_deleted_at_source: wire.yes(record['deleted']),
  });
  const messages = distinct(wire.objectsOf(record['messages']), (message) => wire.id(message['id']));
  oldestFirst(messages, 'date', 'first').forEach((message, index) => {
    const messageId = wire.id(message['id']);
    add(tables, 'followup_messages', {
      followup_id: id,
      id: messageId,
      position: String(index + 1),
      sent_at: wire.ms(message['date']),
      user_id: wire.id(message['m_user_id']),
      note: wire.text(message['note']),
      reassignee_id: wire.id(message['m_reassignee_id']),
      signature: wire.json(message['signature']),
      notify: wire.yes(message['notify']),
    });
    wire.objectsOf(message['attachments']).forEach((attachment, position) =>
      add(tables, 'followup_attachments', {
        followup_id: id,
        message_id: messageId,
        position: String(position + 1),
        key: wire.text(attachment['key']),
        caption: wire.text(attachment['caption']),
      }),
    );
  });
}

export function addEmployee(tables: ExpectedTables, record: WireObject): void {
  const userId = wire.id(record['m_user_id']);
  add(tables, 'training_employee_status', {
    user_id: userId,
    status: wire.text(record['status']),
    percent_complete: wire.decimal(record['percent_complete']),
    incomplete_training_ids: wire.listOf(record['incomplete_training_ids'], wire.integer),
    complete_training_ids: wire.listOf(record['complete_training_ids'], wire.integer),
  });
  const completions = distinct(wire.objectsOf(record['last_completed']), (entry) =>
    wire.integer(entry['id']),
  );
  for (const entry of completions) {
    add(tables, 'training_completions', {
      user_id: userId,
      training_id: wire.integer(entry['id']),
      completed_on: wire.day(entry['date_number']),
      expires_on: wire.day(entry['expiresOn']),
      starts_expiring_on: wire.day(entry['startsExpiringOn']),
      is_required: wire.yes(entry['is_required']),
    });
  }
}

export function addCompletion(tables: ExpectedTables, record: WireObject): void {
  add(tables, 'training_records', {
    id: wire.id(record['id']),
    user_id: wire.id(record['m_user_id']),
    training_id: wire.integer(record['training_id']),
    completed_on: wire.day(record['date_number']),
    created_at: wire.ms(record['created']),
    expires_on: wire.day(record['special_expiration_date_number']),
    instructor_id: wire.id(record['m_instructor_id']),
    group_training_id: wire.integer(record['group_training_id']),
    notes: wire.text(record['notes']),
  });
}

const projectId = (value: unknown): string | null => wire.integer(wire.isObject(value) ? value['id'] : value);

export function addEquipment(tables: ExpectedTables, record: WireObject, requestedType: string): void {
  const id = wire.id(record['id']);
  const metavalues = wire.isObject(record['metavalues']) ? record['metavalues'] : null;
  add(tables, 'equipment', {
    id,
    serial_number: wire.text(record['serialNumber']),
    equipment_type_id: wire.id(record['equipmentType_id']) ?? requestedType,
    created_at: wire.ms(record['created']),
    parent_id: wire.id(record['parent_id']),
    field_office_ids: wire.listOf(record['fieldOffice_id'], wire.id),
    line_of_business_id: wire.id(record['lineOfBusiness_id']),
    client_ids: wire.listOf(record['clients_id'], wire.id),
    assigned_user_ids: wire.listOf(record['assignedUsers_id'], wire.id),
    assigned_user_id: wire.id(record['assignedUser_id']),
    project_ids: wire.listOf(record['projects'], projectId),
    title: wire.text(record['title']),
    notes: wire.text(record['notes']),
    is_in_service: wire.yes(record['isInService']),
    metavalues: wire.json(metavalues),
    status: wire.text(record['status']),
  });
  const ownType = wire.id(record['equipmentType_id']);
  if (ownType !== null && ownType !== requestedType) {
    add(tables, 'equipment_asked_types', { equipment_id: id, asked_type_id: requestedType });
  }
  for (const schedule of distinct(wire.objectsOf(record['schedules']), (one) =>
    wire.id(one['schedule_id']),
  )) {
    add(tables, 'equipment_schedules', {
      equipment_id: id,
      schedule_id: wire.id(schedule['schedule_id']),
      status: wire.text(schedule['status']),
      expires_at: wire.ms(schedule['expiresOn']),
      expiring_at: wire.ms(schedule['expiringOn']),
      last_completed_at: wire.ms(schedule['lastCompletedOn']),
    });
  }
  for (const [metafieldId, value] of Object.entries(metavalues ?? {})) {
    const isText = typeof value === 'string' && value !== 'NULL';
    add(tables, 'equipment_metavalues', {
      equipment_id: id,
      metafield_id: metafieldId,
      number_value: typeof value === 'string' ? null : wire.decimal(value),
      text_value: isText ? value : null,
      item_ids: wire.isObject(value) ? wire.listOf(value['item_ids'], wire.integer) : null,
    });
  }
}

/** Without USERS_KEEP. */
export function addUser(tables: ExpectedTables, record: WireObject): void {
  const [first, last] = [wire.text(record['firstname']), wire.text(record['lastname'])];
  const seen = [wire.ms(record['lastWebAccess']), wire.ms(record['lastMobileAccess'])];
  add(tables, 'users', {
    id: wire.id(record['id']),
    name: wire.text(record['name']) ?? ([first, last].filter(Boolean).join(' ') || null),
    first_name: first,
    last_name: last,
    employee_number: wire.text(record['employeeNumber']),
    email: null,
    username: null,
    job_title_id: wire.id(record['jobTitle_id']),
    role_id: wire.id(record['role_id']),
    field_office_ids: wire.listOf(record['fieldOffice_id'], wire.id),
    line_of_business_ids: wire.listOf(record['lineOfBusiness_id'], wire.id),
    client_ids: wire.listOf(record['clients_id'], wire.id),
    supervisor_id: wire.id(record['supervisor_id']),
    manager_id: wire.id(record['manager_id']),
    hired_on: dayOf(record['hireDate']),
    terminated_on: dayOf(record['terminationDate']),
    last_seen_at: seen.reduce((one, other) => (Number(other) > Number(one) ? other : one)),
  });
}

const dayOf = (value: unknown): string | null => {
  const ms = wire.day(value) === null ? wire.ms(value) : null;
  return ms === null ? wire.day(value) : new Date(Number(ms)).toISOString().slice(0, 10).replaceAll('-', '');
};
