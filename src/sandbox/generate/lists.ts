/** The service's lists that name the ids of other records. */
import { DAY_MS } from '../../shared/time.ts';
import { trainings } from './employees.ts';
import { equipmentTypes } from './equipment-types.ts';
import {
  clients,
  dataLists,
  fieldOffices,
  forms,
  jobTitles,
  lineOfBusinesses,
  projects,
  roles,
} from './vocabulary.ts';
import type { World } from './world.ts';

const typeOf = { number: 'number', text: 'text', items: 'list' } as const;
const FORM_FOLDER = 31;

/** By the key of the list in its response. */
export function buildLists({ beginning, peopleIds }: World) {
  const created = beginning - 400 * DAY_MS;
  const updated = beginning;
  const named = ([id, name]: readonly [id: string, name: string, ...unknown[]]) => ({ id, name, created });
  return {
    forms: forms.map(({ id, name }, index) => ({
      ...{ id, created, updated, sequence: index + 1, folder_id: index % 3 === 2 ? null : FORM_FOLDER },
      ...{ name, hidden: false, description: '', score: index === 0 },
    })),
    trainings: trainings.map(({ id, name, validDays, noticeDays }) => ({
      ...{ id, title: name, created, lesson_id: null, included_trainings_id: [], is_highlighted: false },
      ...{ schedule_type: validDays === null ? 'once' : 'renewal', expiring_days: noticeDays || null },
      renewal_months: validDays === null ? null : Math.round(validDays / 30.4),
      ...{ certificate_text: '', assigned_to_type: 'everyone', assigned_to_condition: {}, notes: '' },
      ...{ expires_on_month: null, expires_on_day: null, window_open_month: null, window_open_day: null },
      ...{ window_close_month: null, window_close_day: null, window_last_offered_date_number: null },
      window_required_for_new_employees: false,
      ...{ course_id: null, folder: null, training_folders_id: [] },
    })),
    equipmenttypes: equipmentTypes.map(({ id, name, metafields, schedules }) => ({
      ...{ id, title: name, created },
      metafields: metafields.map((field) => ({
        ...{ id: field.id, name: field.name, type: typeOf[field.kind] },
        list_id: field.kind === 'items' ? field.list : null,
      })),
      schedules: schedules.map((schedule) => ({
        ...{ id: schedule.id, name: schedule.name, instructions: '', doRequireAttachments: false },
        trigger: {
          ...{ type: 'recurring', timing: 'after_completion' },
          ...{ expiringPeriodInDays: schedule.noticeDays, frequencyInDays: schedule.everyDays },
        },
      })),
    })),
    fieldoffices: fieldOffices.map(([id, name], index) => ({
      ...{ name, code: `FO${index + 1}`, created, id, inactive: index === fieldOffices.length - 1 },
      manager_id: peopleIds[index] ?? '',
    })),
    linesofbusiness: lineOfBusinesses.map(named),
    companies: clients.map(named),
    jobtitles: jobTitles.map(([id, title]) => ({ id, title, created })),
    roles: roles.map(([id, name]) => ({ id, name })),
    projects: projects.map(([id, name], index) => ({
      ...{ id, created: String(created + index * DAY_MS), updated: String(updated), deleted: false, name },
      ...{ number: `P-${id}`, address: null, city: null, state: null, zip: null, active: index > 1 },
      ...{ notes: null, attachments: [] },
    })),
    datalists: dataLists.map(([id, title]) => ({ id, created, updated, title })),
    datalistitems: dataLists.flatMap(([data_list_id, , items]) =>
      items.map(([id, title], index) => ({
        ...{ id, created, updated, title, data_list_id, sequence: index + 1, code: '', description: '' },
      })),
    ),
  } satisfies Record<string, { id: string | number }[]>;
}

export type ListName = keyof ReturnType<typeof buildLists>;
