-- Tools that show no arrays: the items that are chosen in a field of an equipment's own, one row each.
CREATE VIEW safety.equipment_metavalue_items AS
SELECT m.account_id, m.equipment_id, m.metafield_id, items.item_id
FROM safety.equipment_metavalues m
JOIN safety.equipment e ON e.account_id = m.account_id AND e.id = m.equipment_id
CROSS JOIN LATERAL unnest(m.item_ids) AS items (item_id)
WHERE e._deleted_at IS NULL;
