-- The completion of a schedule that never had another state was not noted.
create or replace view safety.inspection_completions as
select d.account_id, d.equipment_id, d.schedule_id, d.completed_at, d.was_due_at,
  case when d.completed_on <= d.was_due_on then 0 else d.completed_on - d.was_due_on end as days_late,
  d.completed_on <= d.was_due_on as in_time, d.completed_on, d.was_due_on,
  d.title, d.equipment_type_id, coalesce(type.label, type_name.name, d.equipment_type_id collate "default") as equipment_type_label,
  coalesce(schedule.label, schedule_name.name, d.schedule_id collate "default") as schedule_label, d.account_id || '/' || d.equipment_id as equipment_key,
  d.account_id || '/' || d.schedule_id as schedule_key
from (
  select c.account_id, c.equipment_id, c.schedule_id, c.completed_at, c.was_due_at, c.title, c.equipment_type_id,
    (c.completed_at at time zone coalesce(z.timezone, 'UTC'))::date as completed_on,
    (c.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date as was_due_on
  from (
    select k.account_id, k.equipment_id, k.schedule_id, k.completed_at, k.was_due_at, e.title, e.equipment_type_id
    from safety.equipment_completions k
    join safety.equipment e on e.account_id = k.account_id and e.id = k.equipment_id and e._deleted_at is null
    union all
    select s.account_id, s.equipment_id, s.schedule_id, s.last_completed_at, null, e.title, e.equipment_type_id
    from safety.equipment_schedules s
    join safety.equipment e on e.account_id = s.account_id and e.id = s.equipment_id and e._deleted_at is null
    where s.last_completed_at is not null and not exists (select from safety.equipment_completions k
      where k.account_id = s.account_id and k.equipment_id = s.equipment_id and k.schedule_id = s.schedule_id)
  ) c
  left join safety.reporting_clock z on z.account_id = c.account_id
) d
left join safety.labels schedule on schedule.account_id = d.account_id and schedule.kind = 'schedule' and schedule.id = d.schedule_id
left join safety.names schedule_name on schedule_name.account_id = d.account_id and schedule_name._key = 'schedule:' || d.schedule_id
left join safety.labels type on type.account_id = d.account_id and type.kind = 'equipment_type' and type.id = d.equipment_type_id
left join safety.names type_name on type_name.account_id = d.account_id and type_name._key = 'equipment_type:' || d.equipment_type_id;
