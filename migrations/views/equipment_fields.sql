create or replace view safety.equipment_fields as
select m.account_id, m.equipment_id, e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id) as equipment_type_label,
  m.metafield_id, coalesce(metafield.label, m.metafield_id) as metafield_label, m.number_value, m.text_value,
  m.number_value is null and m.text_value is null and m.item_ids is null as is_empty,
  m.account_id || '/' || m.equipment_id as equipment_key
from safety.equipment_metavalues m
join safety.equipment e on e.account_id = m.account_id and e.id = m.equipment_id
left join safety.labels type
  on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.labels metafield
  on metafield.account_id = m.account_id and metafield.kind = 'metafield' and metafield.id = m.metafield_id
where e._deleted_at is null;
