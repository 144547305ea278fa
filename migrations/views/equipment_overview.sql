create or replace view safety.equipment_overview as
select e.account_id, e.id, e.title, e.serial_number, e.equipment_type_id,
  coalesce(type.label, type_name.name, e.equipment_type_id collate "default") as equipment_type_label, e.line_of_business_id,
  coalesce(business.label, business_name.name, e.line_of_business_id collate "default") as line_of_business_label, e.parent_id, e.is_in_service, e.status,
  e.notes, e.assigned_user_id, assigned.name as assigned_user_name, e.created_at, (e.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  e.account_id || '/' || e.id as equipment_key, e.account_id || '/' || nullif(e.assigned_user_id, '') as assigned_user_key,
  case when e.id ~ '^[A-Za-z0-9._~-]+$' then replace(z.equipment_url, '{id}', e.id) end as record_url,
  coalesce(business_group.label, business_group_name.name, business.parent_id collate "default") as line_of_business_group,
  offices.field_offices,
  coalesce(assigned.name, nullif(e.assigned_user_id, '') collate "default",
    (select string_agg(coalesce(a.user_name, a.user_id collate "default"), ', ' order by a.user_name, a.user_id)
      from safety.equipment_assigned_users a where a.account_id = e.account_id and a.equipment_id = e.id)) as responsible_name
from safety.equipment e
left join safety.reporting_clock z on z.account_id = e.account_id
left join safety.users assigned on assigned.account_id = e.account_id and assigned.id = e.assigned_user_id
left join safety.labels type on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.names type_name on type_name.account_id = e.account_id and type_name._key = 'equipment_type:' || e.equipment_type_id
left join safety.labels business on business.account_id = e.account_id and business.kind = 'line_of_business' and business.id = e.line_of_business_id
left join safety.names business_name on business_name.account_id = e.account_id and business_name._key = 'line_of_business:' || e.line_of_business_id
left join safety.labels business_group on business_group.account_id = e.account_id and business_group.kind = 'line_of_business' and business_group.id = business.parent_id
left join safety.names business_group_name on business_group_name.account_id = e.account_id and business_group_name._key = 'line_of_business:' || business.parent_id
left join (select account_id, equipment_id, string_agg(field_office_label, ', ' order by field_office_label) as field_offices
  from safety.equipment_field_offices group by account_id, equipment_id) offices
  on offices.account_id = e.account_id and offices.equipment_id = e.id
where e._deleted_at is null;
