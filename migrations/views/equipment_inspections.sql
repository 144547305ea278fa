create or replace view safety.equipment_inspections as
select s.account_id, s.equipment_id, s.schedule_id, e.serial_number, e.title, e.equipment_type_id,
  e.line_of_business_id, e.is_in_service, e.status as equipment_status, s.status,
  s.last_completed_at, s.expiring_at, s.expires_at,
  (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date
    - coalesce(z.today, (now() at time zone 'UTC')::date) as days_until_expiry,
  coalesce(schedule.label, schedule_name.name, s.schedule_id collate "default") as schedule_label,
  coalesce(type.label, type_name.name, e.equipment_type_id collate "default") as equipment_type_label,
  coalesce(business.label, business_name.name, e.line_of_business_id collate "default") as line_of_business_label,
  (s.last_completed_at at time zone coalesce(z.timezone, 'UTC'))::date as last_completed_on,
  (s.expiring_at at time zone coalesce(z.timezone, 'UTC'))::date as expiring_on,
  (s.expires_at at time zone coalesce(z.timezone, 'UTC'))::date as expires_on,
  s.account_id || '/' || s.equipment_id as equipment_key,
  coalesce(business_group.label, business_group_name.name, business.parent_id collate "default") as line_of_business_group,
  s.account_id || '/' || s.schedule_id as schedule_key
from safety.equipment_schedules s
join safety.equipment e on e.account_id = s.account_id and e.id = s.equipment_id
left join safety.reporting_clock z on z.account_id = s.account_id
left join safety.labels schedule on schedule.account_id = s.account_id and schedule.kind = 'schedule' and schedule.id = s.schedule_id
left join safety.names schedule_name on schedule_name.account_id = s.account_id and schedule_name._key = 'schedule:' || s.schedule_id
left join safety.labels type on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.names type_name on type_name.account_id = e.account_id and type_name._key = 'equipment_type:' || e.equipment_type_id
left join safety.labels business on business.account_id = e.account_id and business.kind = 'line_of_business' and business.id = e.line_of_business_id
left join safety.names business_name on business_name.account_id = e.account_id and business_name._key = 'line_of_business:' || e.line_of_business_id
left join safety.labels business_group on business_group.account_id = e.account_id and business_group.kind = 'line_of_business' and business_group.id = business.parent_id
left join safety.names business_group_name on business_group_name.account_id = e.account_id and business_group_name._key = 'line_of_business:' || business.parent_id
where e._deleted_at is null;
