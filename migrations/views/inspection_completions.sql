-- The completion of a schedule that never had another state was not noted.
create or replace view safety.inspection_completions as
select d.account_id, d.equipment_id, d.schedule_id, d.completed_at, d.was_due_at,
  case when d.completed_on <= d.was_due_on then 0 else d.completed_on - d.was_due_on end as days_late,
  d.completed_on <= d.was_due_on as in_time, d.completed_on, d.was_due_on,
  e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id collate "default") as equipment_type_label,
  coalesce(schedule.label, d.schedule_id collate "default") as schedule_label, d.account_id || '/' || d.equipment_id as equipment_key,
  d.account_id || '/' || d.schedule_id as schedule_key
from (
  select c.account_id, c.equipment_id, c.schedule_id, c.completed_at, c.was_due_at,
    (c.completed_at at time zone coalesce(z.timezone, 'UTC'))::date as completed_on,
    (c.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date as was_due_on
  from (
    select account_id, equipment_id, schedule_id, completed_at, was_due_at from safety.equipment_completions
    union all
    select s.account_id, s.equipment_id, s.schedule_id, s.last_completed_at, null
    from safety.equipment_schedules s
    where s.last_completed_at is not null and not exists (select from safety.equipment_completions k
      where k.account_id = s.account_id and k.equipment_id = s.equipment_id and k.schedule_id = s.schedule_id)
  ) c
  left join safety.reporting_clock z on z.account_id = c.account_id
) d
join safety.equipment e on e.account_id = d.account_id and e.id = d.equipment_id and e._deleted_at is null
left join safety.id_labels schedule on schedule.account_id = d.account_id and schedule.kind = 'schedule' and schedule.id = d.schedule_id
left join safety.id_labels type on type.account_id = d.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id;
