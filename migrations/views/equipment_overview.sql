create or replace view safety.equipment_overview as
select e.account_id, e.id, e.title, e.serial_number, e.equipment_type_id,
  coalesce(type.label, e.equipment_type_id) as equipment_type_label, e.line_of_business_id,
  coalesce(business.label, e.line_of_business_id) as line_of_business_label, e.parent_id, e.is_in_service, e.status,
  e.notes, e.created_at, (e.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  e.account_id || '/' || e.id as equipment_key,
  case when e.id ~ '^[A-Za-z0-9._~-]+$' then replace(z.equipment_url, '{id}', e.id) end as record_url
from safety.equipment e
left join safety.reporting_clock z on z.account_id = e.account_id
left join safety.labels type
  on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.labels business
  on business.account_id = e.account_id and business.kind = 'line_of_business' and business.id = e.line_of_business_id
where e._deleted_at is null;
