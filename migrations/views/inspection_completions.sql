-- An inspection counts if its completion is later than that of the previous state, and it was due when the previous state expired.
-- A state with a later completion than a following state was withdrawn or corrected, so the earliest completion from each state on
-- counts. Three parts are for Citus (13.2), which would otherwise read the union of all accounts through the coordinator: the joins
-- of equipment and labels are below the window functions, labels are grouped by their key, and the condition with the clock, which
-- is always true, keeps the clock in every plan, so that Citus sees the common key of both parts of the union. The window begins
-- with the columns that differ most, because PostgreSQL compares the columns in this order when it sorts.
create or replace view safety.inspection_completions as
select s.account_id, s.equipment_id, s.schedule_id, s.completed_at, s.was_due_at,
  case when s.completed_on <= s.was_due_on then 0 else s.completed_on - s.was_due_on end as days_late,
  s.completed_on <= s.was_due_on as in_time, s.completed_on, s.was_due_on,
  s.title, s.equipment_type_id, coalesce(s.type_label, s.equipment_type_id) as equipment_type_label,
  coalesce(s.schedule_label, s.schedule_id) as schedule_label, s.account_id || '/' || s.equipment_id as equipment_key
from (
  select h.account_id, h.equipment_id, h.schedule_id, min(h.completed_at) over later as completed_at,
    lag(h.completed_at) over later as completed_before, lag(h.expires_at) over later as was_due_at,
    (min(h.completed_at) over later at time zone coalesce(z.timezone, 'UTC'))::date as completed_on,
    (lag(h.expires_at) over later at time zone coalesce(z.timezone, 'UTC'))::date as was_due_on,
    h.title, h.equipment_type_id, type.label as type_label, schedule.label as schedule_label
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
  window later as (partition by h.equipment_id, h.schedule_id, h.account_id order by h.valid_from
    rows between current row and unbounded following)
) s
where s.completed_at > coalesce(s.completed_before, '-infinity');
