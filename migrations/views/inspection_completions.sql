-- A state of which a later one shows an earlier completion, or none, was taken back or corrected: it is left out. Each other one
-- with a later completion than the one before it is an inspection, which was due when that one expired. The state just before is
-- one of the others unless its completion is later; only then the one before that is looked for.
create or replace view safety.inspection_completions as
select s.account_id, s.equipment_id, s.schedule_id, s.completed_at, s.was_due_at,
  case when (s.completed_at at time zone coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date then 0
    else (s.completed_at at time zone coalesce(z.timezone, 'UTC'))::date - (s.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date end as days_late,
  (s.completed_at at time zone coalesce(z.timezone, 'UTC'))::date <= (s.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date as in_time,
  (s.completed_at at time zone coalesce(z.timezone, 'UTC'))::date as completed_on,
  (s.was_due_at at time zone coalesce(z.timezone, 'UTC'))::date as was_due_on,
  e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id) as equipment_type_label,
  coalesce(schedule.label, s.schedule_id) as schedule_label, s.account_id || '/' || s.equipment_id as equipment_key
from (
  select k.account_id, k.equipment_id, k.schedule_id, k.completed_at, k.least_from_now,
    case when k.completed_before > k.completed_at then p.completed_before else k.completed_before end as completed_before,
    case when k.completed_before > k.completed_at then p.due_before else k.due_before end as was_due_at
  from (
    select h.account_id, h.equipment_id, h.schedule_id, h.completed_at, h.valid_from, min(h.completed_at) over w as least_from_now,
      lag(h.completed_at) over w as completed_before, lag(h.expires_at) over w as due_before
    from (
      select b.account_id, b.equipment_id, b.schedule_id, coalesce(b.last_completed_at, '-infinity') as completed_at, b.expires_at, b.valid_from
      from safety.equipment_schedule_states b
      union all
      select c.account_id, c.equipment_id, c.schedule_id, coalesce(c.last_completed_at, '-infinity'), c.expires_at, c._valid_from
      from safety.equipment_schedules c
    ) h
    window w as (partition by h.account_id, h.equipment_id, h.schedule_id order by h.valid_from
      rows between current row and unbounded following)
  ) k
  left join lateral (
    select coalesce(b.last_completed_at, '-infinity') as completed_before, b.expires_at as due_before
    from safety.equipment_schedule_states b
    where k.completed_before > k.completed_at and b.account_id = k.account_id and b.equipment_id = k.equipment_id
      and b.schedule_id = k.schedule_id and b.valid_from < k.valid_from
      and coalesce(b.last_completed_at, '-infinity') <= k.completed_at
    order by b.valid_from desc limit 1
  ) p on true
) s
join safety.equipment e on e.account_id = s.account_id and e.id = s.equipment_id
left join safety.reporting_clock z on z.account_id = e.account_id
left join safety.labels schedule
  on schedule.account_id = e.account_id and schedule.kind = 'schedule' and schedule.id = s.schedule_id
left join safety.labels type
  on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
-- As a CASE, of which the planner expects half: of comparisons it would expect few, and look each label up by itself.
where case when s.completed_at <= s.least_from_now then s.completed_at > coalesce(s.completed_before, '-infinity') else false end
  and e._deleted_at is null;
