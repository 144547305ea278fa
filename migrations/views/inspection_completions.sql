-- A state of which a later one shows an earlier completion, or none, was taken back or corrected: it is left out. Each other one
-- with a later completion than the one before it is an inspection, which was due when that one expired.
-- Equipment and labels are joined below the window functions, and labels grouped by their key, because Citus (13.2) would read the
-- union of all accounts through the coordinator otherwise. The condition beside them is always true: it keeps the clock in every
-- plan, and without that join Citus does not see that both parts of the union have the same key.
create or replace view safety.inspection_completions as
select s.account_id, s.equipment_id, s.schedule_id, s.completed_at, s.was_due_at,
  case when (s.completed_at at time zone coalesce(s.timezone, 'UTC'))::date <= (s.was_due_at at time zone coalesce(s.timezone, 'UTC'))::date then 0
    else (s.completed_at at time zone coalesce(s.timezone, 'UTC'))::date - (s.was_due_at at time zone coalesce(s.timezone, 'UTC'))::date end as days_late,
  (s.completed_at at time zone coalesce(s.timezone, 'UTC'))::date <= (s.was_due_at at time zone coalesce(s.timezone, 'UTC'))::date as in_time,
  (s.completed_at at time zone coalesce(s.timezone, 'UTC'))::date as completed_on,
  (s.was_due_at at time zone coalesce(s.timezone, 'UTC'))::date as was_due_on,
  s.title, s.equipment_type_id, coalesce(s.type_label, s.equipment_type_id) as equipment_type_label,
  coalesce(s.schedule_label, s.schedule_id) as schedule_label, s.account_id || '/' || s.equipment_id as equipment_key
from (
  select k.account_id, k.equipment_id, k.schedule_id, k.completed_at, lag(k.completed_at) over w as completed_before,
    lag(k.expires_at) over w as was_due_at, k.timezone, k.title, k.equipment_type_id, k.type_label, k.schedule_label
  from (
    select h.account_id, h.equipment_id, h.schedule_id, h.completed_at, h.expires_at, h.valid_from, z.timezone, h.title,
      h.equipment_type_id, type.label as type_label, schedule.label as schedule_label,
      min(h.completed_at) over (partition by h.account_id, h.equipment_id, h.schedule_id order by h.valid_from
        rows between current row and unbounded following) as least_from_now
    from (
      select b.account_id, b.equipment_id, b.schedule_id, coalesce(b.last_completed_at, '-infinity') as completed_at, b.expires_at,
        b.valid_from, e.title, e.equipment_type_id
      from safety.equipment_schedule_states b
      join safety.equipment e on e.account_id = b.account_id and e.id = b.equipment_id
      where e._deleted_at is null
      union all
      select c.account_id, c.equipment_id, c.schedule_id, coalesce(c.last_completed_at, '-infinity'), c.expires_at, c._valid_from,
        e.title, e.equipment_type_id
      from safety.equipment_schedules c
      join safety.equipment e on e.account_id = c.account_id and e.id = c.equipment_id
      where e._deleted_at is null
    ) h
    left join safety.reporting_clock z on z.account_id = h.account_id
    left join (select account_id, id, max(label) as label from safety.labels where kind = 'schedule' group by 1, 2) schedule
      on schedule.account_id = h.account_id and schedule.id = h.schedule_id
    left join (select account_id, id, max(label) as label from safety.labels where kind = 'equipment_type' group by 1, 2) type
      on type.account_id = h.account_id and type.id = h.equipment_type_id
    where z.timezone is null or z.timezone is not null
  ) k
  where k.completed_at <= k.least_from_now
  window w as (partition by k.account_id, k.equipment_id, k.schedule_id order by k.valid_from)
) s
where s.completed_at > coalesce(s.completed_before, '-infinity');
