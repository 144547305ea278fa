-- Labels are joined grouped by their key, because Citus (13.2) reads a union of all accounts through the coordinator where a
-- left join has a plain table on its outer side.
create or replace view safety.equipment_history as
select h.account_id, h.id, h.serial_number, h.equipment_type_id, h.created_at, h.parent_id, h.field_office_ids,
  h.line_of_business_id, h.client_ids, h.assigned_user_ids, h.title, h.notes, h.is_in_service, h.metavalues, h.status,
  h.valid_from, h.valid_to, coalesce(type.label, h.equipment_type_id) as equipment_type_label,
  coalesce(business.label, h.line_of_business_id) as line_of_business_label,
  (h.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on, h.account_id || '/' || h.id as equipment_key
from (
  select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
    client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, valid_from, valid_to
  from safety.equipment_states
  union all
  select account_id, id, serial_number, equipment_type_id, created_at, parent_id, field_office_ids, line_of_business_id,
    client_ids, assigned_user_ids, title, notes, is_in_service, metavalues, status, _valid_from,
    case when _deleted_at is not null then greatest(_deleted_at, _valid_from + interval '1 microsecond') end
  from safety.equipment
) h
left join safety.reporting_clock z on z.account_id = h.account_id
left join (select account_id, id, max(label) as label from safety.labels where kind = 'equipment_type' group by 1, 2) type
  on type.account_id = h.account_id and type.id = h.equipment_type_id
left join (select account_id, id, max(label) as label from safety.labels where kind = 'line_of_business' group by 1, 2) business
  on business.account_id = h.account_id and business.id = h.line_of_business_id;
