/** The lists that the report counts, each with all its rows: the files and sheets to take along. */
import type { RecordKind } from '../../shared/record-urls.ts';
import { FOLLOWUP_QUESTIONS, NOTE_COLUMNS, NOTES } from './questions/followup-questions.ts';
import { EQUIPMENT_QUESTIONS, joinResponsible } from './questions/asset-questions.ts';
import type { Question } from './questions/question.ts';
import { TRAINING_QUESTIONS } from './questions/training-questions.ts';
import { DUE_SOON, EXPIRING, LAPSING } from './questions/week-questions.ts';

type RecordOf = (row: Readonly<Record<string, unknown>>) => readonly [RecordKind, id: unknown];

export interface List {
  /** Its contents, for readers. */
  readonly about: string;
  /** `$1` is the account. Columns that end in `_on` hold days, those that end in `id` hold texts. */
  readonly sql: string;
  /** The record of a row, for its link; absent: the row counts several records. */
  readonly recordOf?: RecordOf;
}

const followupOf: RecordOf = ({ id }) => ['followup', id];
const employeeOf: RecordOf = ({ user_id: id }) => ['employee', id];

/** A table of the page, with all its rows. */
const allRowsOf = ({ sql }: Question): string => sql.replace(/ limit \d+$/, '');

const followupList = (about: string, columns: string, where: string, order: string): List => ({
  about,
  sql: `
select o.id, o.response_id, o.form_id, o.form_label, o.assignee_id, o.assignee_name, o.created_on, o.due_on, ${columns},
  o.message_count, o.reassignment_count, o.field_offices, o.supervisor_name, ${NOTE_COLUMNS}
from safety.followup_overview o${NOTES}
where o.account_id = $1 and ${where}
order by ${order}`,
  recordOf: followupOf,
});

/** The names of the assignees of a piece of equipment. */
const namesSql = (equipmentId: string): string =>
  joinResponsible(equipmentId, `string_agg(coalesce(u.name, a.user_id), ', ' order by u.name, a.user_id)`);

export const LISTS = {
  'overdue-followups': followupList(
    'overdue follow-ups, longest overdue first',
    'o.days_overdue',
    'o.is_overdue',
    'o.due_on, o.id',
  ),
  'overdue-by-person': {
    about: 'assignees of overdue follow-ups, with their number',
    sql: allRowsOf(FOLLOWUP_QUESTIONS.overdueByAssignee),
  },
  'this-week': {
    about: 'tasks of the next seven days: one row per person and task',
    sql: `
select t.by_on, t.user_id, u.name as user_name, t.task, t.label, t.id, t.equipment
from (
  select due_on as by_on, assignee_id as user_id, 'follow-up' as task, form_label as label, id, null as equipment${DUE_SOON}
  union all
  select expires_on, user_id, 'training', training_label, training_id::text, null${LAPSING}
  union all
  select i.expires_on, a.user_id, 'inspection', i.schedule_label, i.equipment_id, coalesce(i.title, i.serial_number)${EXPIRING}
) t
left join safety.users u on u.account_id = $1 and u.id = t.user_id
order by t.by_on, u.name, t.user_id, t.task, t.label, t.id`,
    recordOf: ({ task, id, user_id: userId }) => {
      if (task === 'training') return ['employee', userId];
      return [task === 'follow-up' ? 'followup' : 'equipment', id];
    },
  },
  'open-followups': followupList(
    'all open follow-ups',
    'o.is_overdue, o.days_until_due',
    'o.is_open',
    'o.due_on, o.id',
  ),
  'closed-followups': followupList(
    'follow-ups with a due day that were closed in the last thirty days, those closed late first',
    'o.resolved_on, o.closed_in_time, o.days_to_resolve, o.completer_id, o.completer_name',
    'o.closed_in_time is not null and o.resolved_on between safety.reporting_today($1) - 29 and safety.reporting_today($1)',
    'o.closed_in_time, o.resolved_on, o.id',
  ),
  'followups-by-form': {
    about: 'forms, with the number of their follow-ups and the time to close them',
    sql: allRowsOf(FOLLOWUP_QUESTIONS.timeToCloseByForm),
  },
  employees: {
    about: 'employees with their training status, incomplete ones first',
    sql: `
select user_id, user_name, status, percent_complete, complete_count, incomplete_count, next_expires_on
from safety.training_compliance
where account_id = $1
order by array_position(array['incomplete', 'expiring', 'active', 'unassigned'], status), incomplete_count desc, user_name, user_id`,
    recordOf: employeeOf,
  },
  'lacking-trainings': {
    about: 'required trainings that an employee lacks: one row per employee and training',
    sql: `
select user_id, user_name, training_id, training_label, state, completed_on, expires_on
from safety.training_matrix
where account_id = $1 and is_required and state in ('missing', 'expired')
order by user_name, user_id, training_label, training_id`,
    recordOf: employeeOf,
  },
  'lacking-by-training': {
    about: 'required trainings, with the number of employees that lack them',
    sql: allRowsOf(TRAINING_QUESTIONS.gapsByTraining),
  },
  'lapsing-trainings': {
    about: 'trainings that lapse in the next ninety days',
    sql: allRowsOf(TRAINING_QUESTIONS.lapsingNext),
    recordOf: employeeOf,
  },
  'equipment-in-service': {
    about: 'equipment in service, expired first',
    sql: `
select e.id, e.title, e.serial_number, e.equipment_type_id, e.equipment_type_label, e.status, offices.field_offices,
  people.responsible
from safety.equipment_overview e
left join lateral (
  select string_agg(o.field_office_label, ', ' order by o.field_office_label) as field_offices
  from safety.equipment_field_offices o
  where o.account_id = $1 and o.equipment_id = e.id
) offices on true${namesSql('e.id')}
where e.account_id = $1 and e.is_in_service
order by array_position(array['expired', 'expiring', 'uptodate'], e.status), e.equipment_type_label, e.id`,
    recordOf: ({ id }) => ['equipment', id],
  },
  'equipment-by-office': {
    about: 'field offices, with the number of their equipment',
    sql: allRowsOf(EQUIPMENT_QUESTIONS.equipmentByOffice),
  },
  'expired-inspections': {
    about: 'expired inspections of equipment in service, longest expired first',
    sql: `
select i.equipment_id, i.title, i.serial_number, i.equipment_type_id, i.equipment_type_label, i.schedule_id, i.schedule_label,
  i.last_completed_on, i.expires_on, -i.days_until_expiry as days_expired, people.responsible
from safety.equipment_inspections i${namesSql('i.equipment_id')}
where i.account_id = $1 and i.is_in_service and i.status = 'expired' and i.days_until_expiry <= 0
order by i.days_until_expiry, i.equipment_id, i.schedule_id`,
    recordOf: ({ equipment_id: id }) => ['equipment', id],
  },
  documents: {
    about: 'documents with their newest version, those without an approval first',
    sql: `
select resource_id, title, category_id, category_label, version, creator_id, creator_name, created_on, approved_on,
  age_days
from safety.current_resource_versions
where account_id = $1
order by approved_at is not null, created_at, resource_id`,
    recordOf: ({ resource_id: id }) => ['resource', id],
  },
} satisfies Readonly<Record<string, List>>;

export type ListName = keyof typeof LISTS;
export const LIST_NAMES = Object.keys(LISTS) as ListName[];
