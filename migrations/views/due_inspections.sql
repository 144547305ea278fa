-- Two completions may have one due day, if the service did not move it.
create or replace view safety.due_inspections as
select d.account_id, d.equipment_id, d.schedule_id, d.due_on, d.done_on,
  case when d.done_on is not null then d.done_on <= d.due_on when d.due_on < d.today then false end as done_in_time,
  e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id collate "default") as equipment_type_label,
  coalesce(schedule.label, d.schedule_id collate "default") as schedule_label, d.account_id || '/' || d.equipment_id as equipment_key,
  d.account_id || '/' || d.schedule_id as schedule_key
from (
  select c.account_id, c.equipment_id, c.schedule_id, (c.due_at at time zone coalesce(z.timezone, 'UTC'))::date as due_on,
    min((c.done_at at time zone coalesce(z.timezone, 'UTC'))::date) as done_on,
    coalesce(z.today, (now() at time zone 'UTC')::date) as today
  from (
    select account_id, equipment_id, schedule_id, was_due_at as due_at, completed_at as done_at from safety.equipment_completions
    union all
    select account_id, equipment_id, schedule_id, expires_at, null from safety.equipment_schedules
    union all
    -- Moved after it had passed.
    select s.account_id, s.equipment_id, s.schedule_id, s.expires_at, null
    from safety.equipment_schedule_states s
    left join safety.reporting_clock z on z.account_id = s.account_id
    where (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date >= (s.valid_from at time zone coalesce(z.timezone, 'UTC'))::date
      and (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date < (s.valid_to at time zone coalesce(z.timezone, 'UTC'))::date
  ) c
  left join safety.reporting_clock z on z.account_id = c.account_id
  where c.due_at is not null
  group by c.account_id, c.equipment_id, c.schedule_id, (c.due_at at time zone coalesce(z.timezone, 'UTC'))::date, z.today
) d
join safety.equipment e on e.account_id = d.account_id and e.id = d.equipment_id and e._deleted_at is null
left join safety.id_labels schedule on schedule.account_id = d.account_id and schedule.kind = 'schedule' and schedule.id = d.schedule_id
left join safety.id_labels type on type.account_id = d.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
where d.due_on <= d.today;
