create or replace view safety.people_clients as
select u.account_id, u.id as user_id, u.name as user_name, u.account_id || '/' || u.id as user_key, o.id,
  coalesce(client.label, client_name.name, o.id collate "default") as label
from safety.users u cross join lateral unnest(u.client_ids) as o (id)
left join safety.labels client on client.account_id = u.account_id and client.kind = 'client' and client.id = o.id
left join safety.names client_name on client_name.account_id = u.account_id and client_name._key = 'client:' || o.id;
