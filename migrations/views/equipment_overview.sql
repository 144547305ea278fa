create or replace view safety.equipment_overview as
select e.account_id, e.id, e.title, e.serial_number, e.equipment_type_id,
  coalesce(type.label, e.equipment_type_id collate "default") as equipment_type_label, e.line_of_business_id,
  coalesce(business.label, e.line_of_business_id collate "default") as line_of_business_label, e.parent_id, e.is_in_service, e.status,
  e.notes, e.assigned_user_id, assigned.name as assigned_user_name, e.created_at, (e.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  e.account_id || '/' || e.id as equipment_key, e.account_id || '/' || nullif(e.assigned_user_id, '') as assigned_user_key,
  case when e.id ~ '^[A-Za-z0-9._~-]+$' then replace(z.equipment_url, '{id}', e.id) end as record_url,
  business.group_label as line_of_business_group,
  (select string_agg(o.field_office_label, ', ' order by o.field_office_label) from safety.equipment_field_offices o
    where o.account_id = e.account_id and o.equipment_id = e.id) as field_offices,
  coalesce(assigned.name, nullif(e.assigned_user_id, '') collate "default",
    (select string_agg(coalesce(a.user_name, a.user_id collate "default"), ', ' order by a.user_name, a.user_id)
      from safety.equipment_assigned_users a where a.account_id = e.account_id and a.equipment_id = e.id)) as responsible_name
from safety.equipment e
left join safety.reporting_clock z on z.account_id = e.account_id
left join safety.users assigned on assigned.account_id = e.account_id and assigned.id = e.assigned_user_id
left join safety.id_labels type
  on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.id_labels business
  on business.account_id = e.account_id and business.kind = 'line_of_business' and business.id = e.line_of_business_id
where e._deleted_at is null;
