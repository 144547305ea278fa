create or replace view safety.equipment_assigned_users as
select e.account_id, e.id as equipment_id, assigned.user_id,
  e.account_id || '/' || e.id as equipment_key, e.account_id || '/' || assigned.user_id as user_key
from safety.equipment e cross join lateral unnest(e.assigned_user_ids) as assigned (user_id)
where e._deleted_at is null;
