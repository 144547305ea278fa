/** Questions about the next seven days: counts per person, and the first tasks of the people on the page. */
import type * as z from 'zod';
import { personOf } from '../../words.ts';
import { EXPIRES_THIS_WEEK } from './asset-questions.ts';
import { NOTE_COLUMNS, NOTES, notes } from './followup-questions.ts';
import { as, columns, question } from './question.ts';

/** Tasks shown per person. */
export const SHOWN_TASKS = 6;

export const DUE_SOON = `
from safety.followup_overview
where account_id = $1 and days_until_due between 0 and 6`;
export const LAPSING = `
from safety.training_matrix
where account_id = $1 and days_until_expiry between 0 and 6 and is_required is not false`;
/** One row per assignee of the equipment. */
export const EXPIRING = `
from safety.equipment_inspections i
left join safety.equipment_assigned_users a on a.account_id = $1 and a.equipment_id = i.equipment_id
where i.account_id = $1 and is_in_service and ${EXPIRES_THIS_WEEK}`;
const GROUP = 'i.equipment_type_id, i.schedule_id';

/** How many tasks has each person in the next seven days? */
export const weekByPerson = question({
  /** An empty `user_id`: no assignee. */
  ...columns.employee,
  followups: as.number,
  trainings: as.number,
  inspection_tasks: as.number,
  inspections: as.number,
})`
select t.user_id, u.name as user_name, sum(followups) as followups, sum(trainings) as trainings,
  sum(inspection_tasks) as inspection_tasks, sum(inspections) as inspections
from (
  select coalesce(assignee_id, '') as user_id, count(*) as followups, 0 as trainings, 0 as inspection_tasks, 0 as inspections${DUE_SOON}
  group by 1
  union all
  select user_id, 0, count(*), 0, 0${LAPSING}
  group by 1
  union all
  select coalesce(a.user_id, ''), 0, 0, count(distinct (${GROUP})), count(*)${EXPIRING}
  group by 1
) t
left join safety.users u on u.account_id = $1 and u.id = t.user_id
group by 1, 2`;

export const WEEK_QUESTIONS = {
  /** Which open ones are due in the next seven days? */
  dueSoon: question({ ...columns.followup, ...columns.form, ...columns.assignee, due_on: as.day, ...notes })`
select o.id, o.response_id, o.form_id, o.form_label, o.assignee_id, o.assignee_name, o.due_on, ${NOTE_COLUMNS}
from (
  select id, response_id, form_id, form_label, assignee_id, assignee_name, due_on,
    row_number() over (partition by coalesce(assignee_id, '') order by due_on, id) as task${DUE_SOON}
    and coalesce(assignee_id, '') = any ($2)
) o${NOTES}
where o.task <= ${SHOWN_TASKS}
order by o.due_on, o.id`,

  /** Whose training lapses in the next seven days? */
  lapsingThisWeek: question({ ...columns.employee, ...columns.training, expires_on: as.day })`
select user_id, user_name, training_id, training_label, expires_on
from (
  select user_id, user_name, training_id, training_label, expires_on,
    row_number() over (partition by user_id order by expires_on, training_id) as task${LAPSING}
    and user_id = any ($2)
) t
where task <= ${SHOWN_TASKS}
order by expires_on, user_id, training_id`,

  /** Which inspections of equipment in service expire in the next seven days, by responsible person? */
  expiringThisWeek: question({
    user_id: as.textOrNull,
    ...columns.equipmentType,
    ...columns.schedule,
    inspections: as.number,
    expires_on: as.day,
    equipment: as.text,
  })`
select user_id, equipment_type_id, equipment_type_label, schedule_id, schedule_label, inspections, expires_on, equipment
from (
  select a.user_id, i.equipment_type_id, i.equipment_type_label, i.schedule_id, i.schedule_label, count(*) as inspections,
    min(i.expires_on) as expires_on, min(coalesce(i.title, i.serial_number, i.equipment_id)) as equipment,
    row_number() over (partition by coalesce(a.user_id, '') order by min(i.expires_on), i.equipment_type_label, i.schedule_label) as task${EXPIRING}
    and coalesce(a.user_id, '') = any ($2)
  group by a.user_id, i.equipment_type_id, i.equipment_type_label, i.schedule_id, i.schedule_label
) t
where task <= ${SHOWN_TASKS}
order by expires_on, equipment_type_label, schedule_label, user_id`,
};

/** The numbers of tasks of one person; inspections count as a task for each type and schedule. */
export type PersonLoad = z.output<(typeof weekByPerson)['rows']>[number];

const SHOWN_PEOPLE = 12;
/** People with other tasks than inspections are shown beyond this limit. */
const MOST_PEOPLE = 20;

/** Inspections come last, because there can be many. */
const urgencyOf = ({ followups, trainings }: PersonLoad): number => followups + trainings;

export const tasksOf = (load: PersonLoad): number => urgencyOf(load) + load.inspection_tasks;

/** Tasks without an assignee are always shown. */
export function choosePeople(loads: readonly PersonLoad[]): {
  shown: readonly PersonLoad[];
  others: readonly PersonLoad[];
} {
  const people = loads
    .filter(({ user_id: id }) => id !== '')
    .toSorted(
      (one, other) =>
        urgencyOf(other) - urgencyOf(one) ||
        tasksOf(other) - tasksOf(one) ||
        personOf(one.user_name, one.user_id).localeCompare(personOf(other.user_name, other.user_id)) ||
        one.user_id.localeCompare(other.user_id),
    );
  const urgent = people.filter((one) => urgencyOf(one) > 0).length;
  const most = Math.min(MOST_PEOPLE, Math.max(SHOWN_PEOPLE, urgent));
  const unassigned = loads.filter(({ user_id: id }) => id === '');
  return { shown: [...people.slice(0, most), ...unassigned], others: people.slice(most) };
}
