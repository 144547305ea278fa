create or replace view safety.equipment_fields as
select m.account_id, m.equipment_id, e.title, e.equipment_type_id, coalesce(type.label, e.equipment_type_id collate "default") as equipment_type_label,
  m.metafield_id, coalesce(metafield.label, m.metafield_id collate "default") as metafield_label, m.number_value, m.text_value,
  m.number_value is null and m.text_value is null and m.item_ids is null as is_empty,
  m.account_id || '/' || m.equipment_id as equipment_key,
  (select string_agg(coalesce(item.label, items.item_id::text), ', ' order by items.place)
    from unnest(m.item_ids) with ordinality as items (item_id, place)
    left join safety.id_labels item
      on item.account_id = m.account_id and item.kind = 'metafield_item' and item.id = items.item_id::text) as items
from safety.equipment_metavalues m
join safety.equipment e on e.account_id = m.account_id and e.id = m.equipment_id
left join safety.id_labels type
  on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.id_labels metafield
  on metafield.account_id = m.account_id and metafield.kind = 'metafield' and metafield.id = m.metafield_id
where e._deleted_at is null;
