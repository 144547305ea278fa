create or replace view safety.people_clients as
select u.account_id, u.id as user_id, u.name as user_name, u.account_id || '/' || u.id as user_key, o.id, coalesce(named.label, o.id collate "default") as label
from safety.users u cross join lateral unnest(u.client_ids) as o (id)
left join safety.id_labels named on named.account_id = u.account_id and named.kind = 'client' and named.id = o.id;
