create or replace view safety.people_field_offices as
select u.account_id, u.id as user_id, u.name as user_name, u.account_id || '/' || u.id as user_key, o.id, coalesce(named.label, o.id collate "default") as label,
  named.group_label, u.account_id || '/' || o.id as field_office_key
from safety.users u cross join lateral unnest(u.field_office_ids) as o (id)
left join safety.id_labels named on named.account_id = u.account_id and named.kind = 'field_office' and named.id = o.id;
