/** Questions about equipment and documents. */
import * as z from 'zod';
import { as, columns, figures, question } from './question.ts';

/** Joins `people.responsible`: an aggregate of the assignees `a` of a piece of equipment, with their users `u`. */
export const joinResponsible = (equipmentId: string, aggregate: string): string => `
left join lateral (
  select ${aggregate} as responsible
  from safety.equipment_assigned_users a
  left join safety.users u on u.account_id = $1 and u.id = a.user_id
  where a.account_id = $1 and a.equipment_id = ${equipmentId}
) people on true`;
const ALL_RESPONSIBLE = joinResponsible(
  'i.equipment_id',
  `coalesce(json_agg(json_build_object('user_id', a.user_id, 'user_name', u.name) order by u.name, a.user_id), '[]')`,
);

/** An inspection that expired today counts as expired only. */
export const EXPIRES_THIS_WEEK = `days_until_expiry between 0 and 6 and (status = 'expired' and days_until_expiry = 0) is not true`;

export const EQUIPMENT_QUESTIONS = {
  /** What is the status of equipment in service, by type? */
  equipmentByType: question({ ...columns.equipmentType, status: as.text, equipment: as.number })`
select equipment_type_id, equipment_type_label, coalesce(status, 'unknown') as status, count(*) as equipment
from safety.equipment_overview
where account_id = $1 and is_in_service
group by 1, 2, 3
order by 2, 1, 3`,

  /** In which field offices is the most expired equipment in service? */
  equipmentByOffice: question({
    field_office_id: as.text,
    field_office_label: as.text,
    in_service: as.number,
    expired: as.number,
  })`
select o.field_office_id, o.field_office_label, count(*) as in_service, count(*) filter (where e.status = 'expired') as expired
from safety.equipment_field_offices o
join safety.equipment_overview e on e.account_id = o.account_id and e.id = o.equipment_id
where o.account_id = $1 and e.is_in_service
group by 1, 2
order by expired desc, in_service desc, 1 limit 12`,

  /** How many were in each status, day by day? */
  equipmentByDay: question({ date: as.day, status: as.text, in_service: as.number })`
select date, status, in_service
from safety.equipment_status_daily
where account_id = $1 and days_ago < 365
order by date, status`,

  /** How many inspections of equipment in service are expired, and how many expire in the next seven days? */
  inspections: figures({ expired: as.number, expiring: as.number })`
select count(*) filter (where status = 'expired' and days_until_expiry <= 0) as expired,
  count(*) filter (where ${EXPIRES_THIS_WEEK}) as expiring
from safety.equipment_inspections
where account_id = $1 and is_in_service`,

  /** Which inspections of equipment in service are longest expired, and who is responsible? */
  longestExpired: question({
    equipment_id: as.text,
    title: as.textOrNull,
    serial_number: as.textOrNull,
    ...columns.equipmentType,
    ...columns.schedule,
    days_expired: as.number,
    last_completed_on: as.dayOrNull,
    responsible: z.array(z.object(columns.employee)),
  })`
select i.equipment_id, i.title, i.serial_number, i.equipment_type_id, i.equipment_type_label, i.schedule_id,
  i.schedule_label, i.days_expired,
  i.last_completed_on, people.responsible
from (
  select equipment_id, title, serial_number, equipment_type_id, equipment_type_label, schedule_id, schedule_label,
    -days_until_expiry as days_expired, last_completed_on
  from safety.equipment_inspections
  where account_id = $1 and is_in_service and status = 'expired' and days_until_expiry <= 0
  order by days_until_expiry, equipment_id, schedule_id limit 15
) i${ALL_RESPONSIBLE}
order by i.days_expired desc, i.equipment_id, i.schedule_id`,
};

export const DOCUMENT_QUESTIONS = {
  /** How many documents are there, and how many of their newest versions are approved? */
  documentsNow: figures({ documents: as.number, not_approved: as.number, older_than_two_years: as.number })`
select count(*) as documents, count(*) filter (where approved_at is null) as not_approved,
  count(*) filter (where created_at < now() - interval '2 years') as older_than_two_years
from safety.current_resource_versions
where account_id = $1`,

  /** Which documents are not approved, longest first, and of which category? */
  notApproved: question({
    resource_id: as.text,
    title: as.textOrNull,
    category_label: as.textOrNull,
    version: as.textOrNull,
    creator_id: as.textOrNull,
    creator_name: as.textOrNull,
    created_on: as.dayOrNull,
  })`
select resource_id, title, category_label, version, creator_id, creator_name, created_on
from safety.current_resource_versions
where account_id = $1 and approved_at is null
order by created_at, resource_id limit 15`,
};
