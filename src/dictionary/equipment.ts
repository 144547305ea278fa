import {
  ACCOUNT,
  allBut,
  BOOKKEEPING,
  columnsOf,
  DAYS_AGO,
  type Descriptions,
  historyOf,
  keyTo,
  labelOf,
  localDay,
  type Meanings,
  personKey,
  personName,
} from './description.ts';

const SINCE =
  'when it was first seen, since the source does not tell; never before the end of the state before.';

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
type Table = 'equipment' | 'equipment_schedules' | 'equipment_metavalues' | 'equipment_asked_types';

/** @param own The columns that the stream declares. */
export function describeEquipment(own: Readonly<Record<Table, Meanings>>): Descriptions {
  const equipment = {
    comment: 'Equipment of the configured types, in and out of service (source: equipments.list).',
    columns: {
      ...ACCOUNT,
      ...own.equipment,
      _valid_from: 'Since when the present state holds; see equipment_history.',
      ...BOOKKEEPING,
    },
  };
  const equipment_schedules = {
    comment: 'Inspection schedules of equipment, replaced with it (source: equipments.list, schedules).',
    columns: {
      ...ACCOUNT,
      ...own.equipment_schedules,
      _valid_from: 'Since when the present state holds; see equipment_schedule_history.',
    },
  };
  const equipment_metavalues = {
    comment:
      'Fields that an equipment type has of its own, replaced with their equipment (source: equipments.list, metavalues). All three values are null where the field is empty.',
    columns: { ...ACCOUNT, ...own.equipment_metavalues },
  };
  const equipment_asked_types = {
    comment:
      'Equipment that names another type than the one it was listed under (source: equipments.list, parameter equipmentType_id); at most one row each, and usually none. For the worker: it tells which response lacks what was deleted.',
    columns: { ...ACCOUNT, ...own.equipment_asked_types },
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

  return {
    equipment,
    equipment_schedules,
    equipment_metavalues,
    equipment_asked_types,
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
        ...columnsOf(equipment_metavalues, 'metafield_id'),
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
        ...columnsOf(equipment_metavalues, 'metafield_id', 'number_value', 'text_value'),
        metafield_label: labelOf('the field'),
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
      comment:
        'Live equipment with names for what it is. Offices, clients and people have views of their own.',
      columns: {
        ...allBut(equipment, 'field_office_ids', 'client_ids', 'assigned_user_ids', 'metavalues'),
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
        ...allBut(equipment_schedules),
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
}
