create or replace view safety.equipment_metavalue_items as
select m.account_id, m.equipment_id, m.metafield_id, items.item_id,
  coalesce(metafield.label, m.metafield_id) as metafield_label, coalesce(item.label, items.item_id::text) as item_label,
  m.account_id || '/' || m.equipment_id as equipment_key
from safety.equipment_metavalues m
join safety.equipment e on e.account_id = m.account_id and e.id = m.equipment_id
cross join lateral unnest(m.item_ids) as items (item_id)
left join safety.labels metafield
  on metafield.account_id = m.account_id and metafield.kind = 'metafield' and metafield.id = m.metafield_id
left join safety.labels item
  on item.account_id = m.account_id and item.kind = 'metafield_item' and item.id = items.item_id::text
where e._deleted_at is null;
