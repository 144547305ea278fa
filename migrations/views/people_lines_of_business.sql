create or replace view safety.people_lines_of_business as
select u.account_id, u.id as user_id, u.name as user_name, u.account_id || '/' || u.id as user_key, o.id,
  coalesce(business.label, business_name.name, o.id collate "default") as label,
  coalesce(business_group.label, business_group_name.name, business.parent_id collate "default") as group_label
from safety.users u cross join lateral unnest(u.line_of_business_ids) as o (id)
left join safety.labels business on business.account_id = u.account_id and business.kind = 'line_of_business' and business.id = o.id
left join safety.names business_name on business_name.account_id = u.account_id and business_name._key = 'line_of_business:' || o.id
left join safety.labels business_group on business_group.account_id = u.account_id and business_group.kind = 'line_of_business' and business_group.id = business.parent_id
left join safety.names business_group_name on business_group_name.account_id = u.account_id and business_group_name._key = 'line_of_business:' || business.parent_id;
