import {
  ACCOUNT,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  keyTo,
  labelOf,
  localDay,
  personKey,
  personName,
} from './description.ts';

const STATUS =
  'uptodate, expiring or expired; others are kept as they come. Source: status; null when not sent.';

const SINCE =
  'when it was first seen, since the source does not tell; never before the end of the state before.';

const equipment = {
  comment: 'Equipment of the configured types, in and out of service (source: equipments.list).',
  columns: {
    ...ACCOUNT,
    id: 'Identifier of the equipment. Source: id.',
    serial_number: 'Serial number. Source: serialNumber; null when not sent.',
    equipment_type_id:
      'Type. Source: equipmentType_id; where the record does not say it, the type that was asked for.',
    created_at: 'When it was created at the source. Source: created (ms); null when not sent.',
    parent_id:
      'Equipment that it is part of: equipment.id; may be empty. Source: parent_id; null when not sent.',
    field_office_ids:
      'Field offices; one row each in equipment_field_offices. Source: fieldOffice_id; null when not sent.',
    line_of_business_id: 'Line of business. Source: lineOfBusiness_id; null when not sent.',
    client_ids: 'Clients; one row each in equipment_clients. Source: clients_id; null when not sent.',
    assigned_user_ids:
      'Who it is assigned to; one row each in equipment_assigned_users. Source: assignedUsers_id; null when not sent.',
    title: 'Title. Source: title; null when not sent.',
    notes: 'Notes. Source: notes; null when not sent.',
    is_in_service: 'Whether it is in service. Source: isInService; null when not sent.',
    metavalues:
      'Fields of its type by metafield id, as sent; one row each in equipment_metavalues. Source: metavalues; null when not sent.',
    status: `Worst of its inspections: ${STATUS}`,
    _valid_from: 'Since when the present state holds; see equipment_history.',
    ...BOOKKEEPING,
  },
};

const equipment_schedules = {
  comment: 'Inspection schedules of equipment, replaced with it (source: equipments.list, schedules).',
  columns: {
    ...ACCOUNT,
    equipment_id: 'Equipment: equipment.id.',
    schedule_id: 'Inspection schedule. Source: schedule_id.',
    status: STATUS,
    expires_at: 'When the inspection expires. Source: expiresOn (ms); null when it does not expire.',
    expiring_at: 'From when it counts as expiring. Source: expiringOn (ms); null when it does not expire.',
    last_completed_at: 'When it was last done. Source: lastCompletedOn (ms); null when it never was.',
    _valid_from: 'Since when the present state holds; see equipment_schedule_history.',
  },
};

const equipment_id = { equipment_id: 'Equipment: equipment.id.' };
const equipment_key = keyTo('The equipment', 'equipment_id');
const equipment_type_label = labelOf('the type');
const line_of_business_label = labelOf('the line of business');
const schedule_label = labelOf('the inspection schedule');
const scheduleDays = {
  schedule_label,
  last_completed_on: localDay('last_completed_at'),
  expiring_on: localDay('expiring_at'),
  expires_on: localDay('expires_at'),
  equipment_key,
};
/** What every view of whole equipment has beside its columns. */
const shown = {
  equipment_type_label,
  line_of_business_label,
  created_on: localDay('created_at'),
  equipment_key: keyTo('The equipment', 'id'),
};
const history = historyOf(equipment, {
  what: 'equipment (without its schedules, which have a history of their own)',
  since: SINCE,
  shown,
});
const schedules = historyOf(equipment_schedules, {
  what: 'inspection schedules; a state ends when the schedule or its equipment disappears',
  since: SINCE,
  shown: scheduleDays,
});

export const EQUIPMENT: Descriptions = {
  equipment,
  equipment_schedules,
  equipment_metavalues: {
    comment:
      'Fields that an equipment type has of its own, replaced with their equipment (source: equipments.list, metavalues). All three values are null where the field is empty.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      metafield_id: 'The field. Source: key in metavalues.',
      number_value: 'Its value where that is a number; else null.',
      text_value: 'Its value where that is a text; else null.',
      item_ids:
        'Its value where items are chosen; one row each in equipment_metavalue_items. Source: item_ids; else null.',
    },
  },
  equipment_asked_types: {
    comment:
      'Equipment that names another type than the one it was listed under (source: equipments.list, parameter equipmentType_id); at most one row each, and usually none. For the worker: it tells which response lacks what was deleted.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      asked_type_id:
        'The type that was asked for; equipment.equipment_type_id is the one that the record names.',
    },
  },
  equipment_states: history.states,
  equipment_history: history.history,
  equipment_schedule_states: schedules.states,
  equipment_schedule_history: schedules.history,
  equipment_field_offices: {
    comment: 'One row for each field office of each live equipment.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      field_office_id: 'Field office. Source: element of fieldOffice_id.',
      field_office_label: labelOf('the field office'),
      equipment_key,
    },
  },
  equipment_clients: {
    comment: 'One row for each client of each live equipment.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      client_id: 'Client. Source: element of clients_id.',
      client_label: labelOf('the client'),
      equipment_key,
    },
  },
  equipment_metavalue_items: {
    comment: 'One row for each item that is chosen in a field of a live equipment.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      metafield_id: 'The field. Source: key in metavalues.',
      item_id: 'The item. Source: element of item_ids.',
      metafield_label: labelOf('the field'),
      item_label: labelOf('the item'),
      equipment_key,
    },
  },
  equipment_fields: {
    comment:
      'One row for each field of each live equipment, with its number or text. Where items are chosen both are null: see equipment_metavalue_items.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      ...columnsOf(equipment, 'title', 'equipment_type_id'),
      equipment_type_label,
      metafield_id: 'The field. Source: key in metavalues.',
      metafield_label: labelOf('the field'),
      number_value: 'Its value where that is a number; else null.',
      text_value: 'Its value where that is a text; else null.',
      is_empty: 'Whether it has no value: no number, no text and no list of items.',
      equipment_key,
    },
  },
  equipment_assigned_users: {
    comment: 'One row for each person to whom a live equipment is assigned.',
    columns: {
      ...ACCOUNT,
      ...equipment_id,
      user_id: 'Person: users.id. Source: element of assignedUsers_id.',
      equipment_key,
      user_key: personKey('The person', 'user_id'),
      user_name: personName('the person'),
    },
  },
  equipment_overview: {
    comment: 'Live equipment with names for what it is. Offices, clients and people have views of their own.',
    columns: {
      ...columnsOf(
        equipment,
        'account_id',
        'id',
        'title',
        'serial_number',
        'equipment_type_id',
        'line_of_business_id',
        'parent_id',
        'is_in_service',
        'status',
        'notes',
        'created_at',
      ),
      ...shown,
    },
  },
  equipment_inspections: {
    comment: 'Inspection schedules of live equipment, one row each, with the equipment.',
    columns: {
      ...columnsOf(
        equipment,
        'serial_number',
        'title',
        'equipment_type_id',
        'line_of_business_id',
        'is_in_service',
      ),
      ...columnsOf(
        equipment_schedules,
        ...Object.keys(equipment_schedules.columns).filter((column) => column !== '_valid_from'),
      ),
      equipment_status: 'Status of the equipment as a whole: equipment.status.',
      days_until_expiry:
        'Calendar days from today to expires_at (reporting time zone): 0 today, negative when it is past; null when it does not expire.',
      equipment_type_label,
      line_of_business_label,
      ...scheduleDays,
    },
  },
  inspection_completions: {
    comment:
      'Inspections that were done on live equipment, one row each: the last one before the first sync, and those that syncs saw since. Of two between two syncs the later one is seen. An inspection is left out when the source later has an earlier time, or none, because it was corrected or taken back. A day that is corrected to a later one cannot be distinguished from another inspection: it has two rows.',
    columns: {
      ...columnsOf(equipment_schedules, 'account_id', 'equipment_id', 'schedule_id'),
      ...columnsOf(equipment, 'title', 'equipment_type_id'),
      completed_at: 'When it was done.',
      was_due_at:
        'When it had been due: expires_at of the state before that was not taken back; null where none is known or it did not expire.',
      days_late:
        'Calendar days from was_due_on to completed_on; 0 when it was in time; null when it is not known when it was due.',
      in_time:
        'Whether it was done on the day on which it was due or before; null when that day is not known.',
      completed_on: localDay('completed_at'),
      was_due_on: localDay('was_due_at'),
      equipment_type_label,
      schedule_label,
      equipment_key,
    },
  },
  equipment_status_daily: {
    comment:
      'How many pieces of equipment were in each status at the end of each day (reporting time zone; today: now), from the first day of which a state is known.',
    columns: {
      ...ACCOUNT,
      date: 'The day, in the reporting time zone.',
      status: 'A status of equipment; unknown where the source did not say.',
      equipment: 'How many, in and out of service; 0 where there were none.',
      in_service: 'How many of them were in service.',
      days_ago: DAYS_AGO,
    },
  },
};
