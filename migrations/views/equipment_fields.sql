create or replace view safety.equipment_fields as
select m.account_id, m.equipment_id, e.title, e.equipment_type_id, coalesce(type.label, type_name.name, e.equipment_type_id collate "default") as equipment_type_label,
  m.metafield_id, coalesce(metafield.label, metafield_name.name, m.metafield_id collate "default") as metafield_label, m.number_value, m.text_value,
  m.number_value is null and m.text_value is null and m.item_ids is null as is_empty,
  m.account_id || '/' || m.equipment_id as equipment_key,
  items.items
from safety.equipment_metavalues m
join safety.equipment e on e.account_id = m.account_id and e.id = m.equipment_id
left join safety.labels type on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.names type_name on type_name.account_id = e.account_id and type_name._key = 'equipment_type:' || e.equipment_type_id
left join safety.labels metafield on metafield.account_id = m.account_id and metafield.kind = 'metafield' and metafield.id = m.metafield_id
left join safety.names metafield_name on metafield_name.account_id = m.account_id and metafield_name._key = 'metafield:' || m.metafield_id
left join (
  select v.account_id, v.equipment_id, v.metafield_id, string_agg(coalesce(item.label, item_name.name, i.item_id::text), ', ' order by i.place) as items
  from safety.equipment_metavalues v cross join lateral unnest(v.item_ids) with ordinality as i (item_id, place)
  left join safety.labels item on item.account_id = v.account_id and item.kind = 'metafield_item' and item.id = i.item_id::text
  left join safety.names item_name on item_name.account_id = v.account_id and item_name._key = 'metafield_item:' || i.item_id
  group by v.account_id, v.equipment_id, v.metafield_id
) items on items.account_id = m.account_id and items.equipment_id = m.equipment_id and items.metafield_id = m.metafield_id
where e._deleted_at is null;
