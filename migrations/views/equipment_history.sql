create or replace view safety.equipment_history as
select h.account_id, h.id, h.serial_number, h.equipment_type_id, h.created_at, h.parent_id, h.field_office_ids,
  h.line_of_business_id, h.client_ids, h.assigned_user_ids, h.title, h.notes, h.is_in_service, h.metavalues,
  h.assigned_user_id, h.project_ids, h.status,
  h.valid_from, h.valid_to, coalesce(type.label, type_name.name, h.equipment_type_id collate "default") as equipment_type_label,
  coalesce(business.label, business_name.name, h.line_of_business_id collate "default") as line_of_business_label,
  (h.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on, h.account_id || '/' || h.id as equipment_key,
  assigned.name as assigned_user_name, h.account_id || '/' || nullif(h.assigned_user_id, '') as assigned_user_key,
  coalesce(business_group.label, business_group_name.name, business.parent_id collate "default") as line_of_business_group
from (
  select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
    client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, assigned_user_id, project_ids, status, valid_from, valid_to
  from safety.equipment_states
  union all
  select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
    client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, assigned_user_id, project_ids, status, _valid_from,
    case when _deleted_at is not null then greatest(_deleted_at, _valid_from + interval '1 microsecond') end
  from safety.equipment
) h
left join safety.reporting_clock z on z.account_id = h.account_id
left join safety.users assigned
  on assigned.account_id = h.account_id and assigned.id = h.assigned_user_id
left join safety.labels type on type.account_id = h.account_id and type.kind = 'equipment_type' and type.id = h.equipment_type_id
left join safety.names type_name on type_name.account_id = h.account_id and type_name._key = 'equipment_type:' || h.equipment_type_id
left join safety.labels business on business.account_id = h.account_id and business.kind = 'line_of_business' and business.id = h.line_of_business_id
left join safety.names business_name on business_name.account_id = h.account_id and business_name._key = 'line_of_business:' || h.line_of_business_id
left join safety.labels business_group on business_group.account_id = h.account_id and business_group.kind = 'line_of_business' and business_group.id = business.parent_id
left join safety.names business_group_name on business_group_name.account_id = h.account_id and business_group_name._key = 'line_of_business:' || business.parent_id;
