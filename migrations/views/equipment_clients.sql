create or replace view safety.equipment_clients as
select e.account_id, e.id as equipment_id, clients.client_id,
  coalesce(client.label, client_name.name, clients.client_id collate "default") as client_label, e.account_id || '/' || e.id as equipment_key
from safety.equipment e cross join lateral unnest(e.client_ids) as clients (client_id)
left join safety.labels client on client.account_id = e.account_id and client.kind = 'client' and client.id = clients.client_id
left join safety.names client_name on client_name.account_id = e.account_id and client_name._key = 'client:' || clients.client_id
where e._deleted_at is null;
