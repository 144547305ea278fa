create or replace view safety.equipment_assigned_users as
select e.account_id, e.id as equipment_id, assigned.user_id,
  e.account_id || '/' || e.id as equipment_key, e.account_id || '/' || nullif(assigned.user_id, '') as user_key,
  u.name as user_name
from safety.equipment e cross join lateral unnest(e.assigned_user_ids) as assigned (user_id)
left join safety.users u on u.account_id = e.account_id and u.id = assigned.user_id
where e._deleted_at is null;
