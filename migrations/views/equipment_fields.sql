create or replace view safety.equipment_fields as
select m.account_id, m.equipment_id, e.title, e.equipment_type_id, coalesce(type.label, type_name.name, e.equipment_type_id collate "default") as equipment_type_label,
  m.metafield_id, coalesce(metafield.label, metafield_name.name, m.metafield_id collate "default") as metafield_label, m.number_value, m.text_value,
  m.number_value is null and m.text_value is null and m.item_ids is null as is_empty,
  m.account_id || '/' || m.equipment_id as equipment_key,
  (select string_agg(coalesce(
      (select l.label from safety.labels l where l.account_id = m.account_id and l.kind = 'metafield_item' and l.id = i.item_id::text),
      (select n.name from safety.names n where n.account_id = m.account_id and n._key = 'metafield_item:' || i.item_id),
      i.item_id::text), ', ' order by i.place)
    from unnest(m.item_ids) with ordinality as i (item_id, place)) as items
from safety.equipment_metavalues m
join safety.equipment e on e.account_id = m.account_id and e.id = m.equipment_id
left join safety.labels type on type.account_id = e.account_id and type.kind = 'equipment_type' and type.id = e.equipment_type_id
left join safety.names type_name on type_name.account_id = e.account_id and type_name._key = 'equipment_type:' || e.equipment_type_id
left join safety.labels metafield on metafield.account_id = m.account_id and metafield.kind = 'metafield' and metafield.id = m.metafield_id
left join safety.names metafield_name on metafield_name.account_id = m.account_id and metafield_name._key = 'metafield:' || m.metafield_id
where e._deleted_at is null;
