create or replace view safety.people_field_offices as
select u.account_id, u.id as user_id, u.name as user_name, u.account_id || '/' || u.id as user_key, o.id,
  coalesce(office.label, office_name.name, o.id collate "default") as label,
  coalesce(office_group.label, office_group_name.name, office.parent_id collate "default") as group_label, u.account_id || '/' || o.id as field_office_key
from safety.users u cross join lateral unnest(u.field_office_ids) as o (id)
left join safety.labels office on office.account_id = u.account_id and office.kind = 'field_office' and office.id = o.id
left join safety.names office_name on office_name.account_id = u.account_id and office_name._key = 'field_office:' || o.id
left join safety.labels office_group on office_group.account_id = u.account_id and office_group.kind = 'field_office' and office_group.id = office.parent_id
left join safety.names office_group_name on office_group_name.account_id = u.account_id and office_group_name._key = 'field_office:' || office.parent_id;
