import { type Descriptions, historyOf, type Meanings, relation } from './description.ts';

const SINCE =
  'time of its first read, because the source sends no time; never before the end of the previous state.';
type EquipmentTable = 'equipment' | 'equipment_schedules' | 'equipment_metavalues' | 'equipment_asked_types';

const OF_EQUIPMENT = { equipment_id: 'Equipment: equipment.id.' };

/** @param own The columns that the stream declares. */
export function describeEquipment(own: Readonly<Record<EquipmentTable, Meanings>>): Descriptions {
  const equipment = relation(
    'Equipment of the configured types, in and out of service (source: equipments.list).',
    own.equipment,
  );
  const equipment_schedules = relation(
    'Inspection schedules of equipment, replaced with it (source: equipments.list, schedules).',
    own.equipment_schedules,
  );
  const equipment_metavalues = relation(
    'Values of the fields that are specific to an equipment type, replaced with their equipment (source: equipments.list, metavalues). All three values are null when the field is empty.',
    own.equipment_metavalues,
  );
  const equipment_completions = relation(
    'Completions that were noted when a schedule got another state, for inspection_completions and due_inspections.',
    {
      completed_at: 'Time of the inspection.',
      was_due_at: 'expires_at of the previous state; null when none is known.',
    },
    equipment_schedules,
    equipment,
  );
  return {
    equipment,
    equipment_schedules,
    equipment_metavalues,
    equipment_asked_types: relation(
      'Equipment with a record that names another type than the requested one (source: equipments.list, parameter equipmentType_id); at most one row each, and usually none. The worker uses it to find the response that lacks a deleted record.',
      own.equipment_asked_types,
    ),
    ...historyOf('equipment', equipment, {
      what: 'equipment (without its schedules, which have their own history)',
      since: SINCE,
    }),
    ...historyOf('equipment_schedule', equipment_schedules, {
      what: 'inspection schedules; a state ends when the schedule or its equipment disappears',
      since: SINCE,
    }),
    equipment_field_offices: relation('One row for each field office of each live equipment.', {
      ...OF_EQUIPMENT,
      field_office_id: 'Field office. Source: element of fieldOffice_id.',
    }),
    equipment_clients: relation('One row for each client of each live equipment.', {
      ...OF_EQUIPMENT,
      client_id: 'Client. Source: element of clients_id.',
    }),
    equipment_projects: relation('One row for each project of each live equipment.', {
      ...OF_EQUIPMENT,
      project_id: 'Project. Source: id of an element of projects.',
    }),
    equipment_assigned_users: relation('One row for each person that a live equipment is assigned to.', {
      ...OF_EQUIPMENT,
      user_id: 'Person: users.id. Source: element of assignedUsers_id.',
    }),
    equipment_fields: relation(
      'One row for each field of each live equipment, with its number, its text or its selected items.',
      {
        is_empty: 'True when the field has no number, no text and no list of items.',
        items: 'The names of the selected items, separated by commas; an item without a name by its id.',
      },
      equipment_metavalues,
      equipment,
    ),
    equipment_overview: relation(
      'Live equipment with the names of its type and line of business. Offices, clients, projects and people have their own views.',
      { responsible_name: 'Name of the person that it is assigned to, else of all assigned people.' },
      equipment,
    ),
    equipment_inspections: relation(
      'Inspection schedules of live equipment, one row each, with the columns of the equipment.',
      {
        equipment_status: 'Status of the equipment as a whole: equipment.status.',
        days_until_expiry:
          'Calendar days from today to expires_at (reporting time zone): 0 today, negative when it is past; null when the inspection does not expire.',
      },
      equipment_schedules,
      equipment,
    ),
    inspection_completions: relation(
      'Completed inspections of live equipment, one row each: the last inspection before the first sync, and all inspections that later syncs read. If two inspections happen between two syncs, only the later one is known. An inspection is left out when the source later sends an earlier time or none, because it was then corrected or withdrawn. A correction to a later day looks like another inspection, so it has two rows.',
      {
        was_due_at:
          'Time at which the inspection was due: expires_at of the previous state; null when no earlier state is known, or when the schedule did not expire.',
        days_late: 'Calendar days from was_due_on to completed_on; 0: in time; null: the due day is unknown.',
        in_time: 'Whether it was done on the due day or before; null when the due day is unknown.',
      },
      equipment_completions,
    ),
    due_inspections: relation(
      'Due days of inspections of live equipment that came, one row each. Shares of it count what was never done, too; inspection_completions has only what was done. A due day that was moved before it had passed is no row; of the due days before history_from there are only those that were missed.',
      {
        due_on: 'The due day.',
        done_on: 'Day of the inspection; null: not done.',
        done_in_time: 'Whether it was done by then; false: later or not at all; null: due today, not done.',
      },
      equipment_completions,
    ),
    equipment_completions,
    equipment_status_daily: relation(
      'Number of pieces of equipment in each status on each day (reporting time zone), as of the last run of that day, or at its end where no run counted it (is_counted), from the first day with a known state to today. Days after the last run have its numbers.',
      {
        status: 'A status of equipment; unknown where the source sent none.',
        equipment: 'Number of pieces, in and out of service; 0 when no piece had the status.',
        in_service: 'Number of these pieces that were in service.',
      },
    ),
  };
}
