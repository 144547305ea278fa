-- Two completions may have one due day. If the service did not move the due time, the first one counts. If it moved it within the
-- day, because the inspection was done twice, the last due time decides, which may be missed.
create or replace view safety.due_inspections as
select d.account_id, d.equipment_id, d.schedule_id, d.due_on, d.done_on,
  case when d.done_on is not null then d.done_on <= d.due_on when d.due_on < d.today then false end as done_in_time,
  d.title, d.equipment_type_id, coalesce(type.label, type_name.name, d.equipment_type_id collate "default") as equipment_type_label,
  coalesce(schedule.label, schedule_name.name, d.schedule_id collate "default") as schedule_label, d.account_id || '/' || d.equipment_id as equipment_key,
  d.account_id || '/' || d.schedule_id as schedule_key
from (
  select c.account_id, c.equipment_id, c.schedule_id, (c.due_at at time zone coalesce(z.timezone, 'UTC'))::date as due_on,
    (case when max(c.due_at) > max(c.due_at) filter (where c.done_at is not null) then null
      when min(c.due_at) = max(c.due_at) then min(c.done_at) else max(c.done_at) end at time zone coalesce(z.timezone, 'UTC'))::date as done_on,
    coalesce(z.today, (now() at time zone 'UTC')::date) as today, c.title, c.equipment_type_id
  from (
    select k.account_id, k.equipment_id, k.schedule_id, k.was_due_at as due_at, k.completed_at as done_at, e.title, e.equipment_type_id
    from safety.equipment_completions k
    join safety.equipment e on e.account_id = k.account_id and e.id = k.equipment_id and e._deleted_at is null
    union all
    select s.account_id, s.equipment_id, s.schedule_id, s.expires_at, null, e.title, e.equipment_type_id
    from safety.equipment_schedules s
    join safety.equipment e on e.account_id = s.account_id and e.id = s.equipment_id and e._deleted_at is null
    union all
    -- Moved after it had passed.
    select s.account_id, s.equipment_id, s.schedule_id, s.expires_at, null, e.title, e.equipment_type_id
    from safety.equipment_schedule_states s
    join safety.equipment e on e.account_id = s.account_id and e.id = s.equipment_id and e._deleted_at is null
    left join safety.reporting_clock z on z.account_id = s.account_id
    where s.expires_at < s.valid_to
      and (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date >= (s.valid_from at time zone coalesce(z.timezone, 'UTC'))::date
      and (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date < (s.valid_to at time zone coalesce(z.timezone, 'UTC'))::date
  ) c
  left join safety.reporting_clock z on z.account_id = c.account_id
  where c.due_at is not null
  group by c.account_id, c.equipment_id, c.schedule_id, (c.due_at at time zone coalesce(z.timezone, 'UTC'))::date, z.today,
    z.timezone, c.title, c.equipment_type_id
) d
left join safety.labels schedule on schedule.account_id = d.account_id and schedule.kind = 'schedule' and schedule.id = d.schedule_id
left join safety.names schedule_name on schedule_name.account_id = d.account_id and schedule_name._key = 'schedule:' || d.schedule_id
left join safety.labels type on type.account_id = d.account_id and type.kind = 'equipment_type' and type.id = d.equipment_type_id
left join safety.names type_name on type_name.account_id = d.account_id and type_name._key = 'equipment_type:' || d.equipment_type_id
where d.due_on <= d.today;
