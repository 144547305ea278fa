create or replace view safety.equipment_metafields as
select t.account_id, t.id as equipment_type_id, coalesce(type.label, type_name.name, t.id collate "default") as equipment_type_label,
  (m.item ->> 'id') collate "C" as metafield_id, metafield.name, coalesce(label.label, label_name.name, m.item ->> 'id') as metafield_label,
  m.item ->> 'type' as type
from safety.names t
cross join lateral jsonb_array_elements(
  case when jsonb_typeof(t._raw -> 'metafields') = 'array' then t._raw -> 'metafields' else '[]' end) m (item)
left join safety.names metafield on metafield.account_id = t.account_id and metafield._key = 'metafield:' || (m.item ->> 'id')
left join safety.labels type on type.account_id = t.account_id and type.kind = 'equipment_type' and type.id = t.id
left join safety.names type_name on type_name.account_id = t.account_id and type_name._key = 'equipment_type:' || t.id
left join safety.labels label on label.account_id = t.account_id and label.kind = 'metafield' and label.id = m.item ->> 'id'
left join safety.names label_name on label_name.account_id = t.account_id and label_name._key = 'metafield:' || (m.item ->> 'id')
where t.kind = 'equipment_type' and t._deleted_at is null;
