create or replace view safety.equipment_schedule_history as
select h.account_id, h.equipment_id, h.schedule_id, h.status, h.expires_at, h.expiring_at, h.last_completed_at,
  h.valid_from, h.valid_to, coalesce(schedule.label, schedule_name.name, h.schedule_id collate "default") as schedule_label,
  (h.expires_at at time zone coalesce(z.timezone, 'UTC'))::date as expires_on,
  (h.expiring_at at time zone coalesce(z.timezone, 'UTC'))::date as expiring_on,
  (h.last_completed_at at time zone coalesce(z.timezone, 'UTC'))::date as last_completed_on,
  h.account_id || '/' || h.equipment_id as equipment_key,
  h.account_id || '/' || h.schedule_id as schedule_key
from (
  select account_id, equipment_id, schedule_id, status, expires_at, expiring_at, last_completed_at, valid_from, valid_to
  from safety.equipment_schedule_states
  union all
  select c.account_id, c.equipment_id, c.schedule_id, c.status, c.expires_at, c.expiring_at, c.last_completed_at,
    c._valid_from,
    case when e._deleted_at is not null then greatest(e._deleted_at, c._valid_from + interval '1 microsecond') end
  from safety.equipment_schedules c
  join safety.equipment e on e.account_id = c.account_id and e.id = c.equipment_id
) h
left join safety.reporting_clock z on z.account_id = h.account_id
left join safety.labels schedule on schedule.account_id = h.account_id and schedule.kind = 'schedule' and schedule.id = h.schedule_id
left join safety.names schedule_name on schedule_name.account_id = h.account_id and schedule_name._key = 'schedule:' || h.schedule_id;
