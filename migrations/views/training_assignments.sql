create or replace view safety.training_assignments as
select s.account_id, s.user_id, ids.training_id, list.is_complete,
  coalesce(training.label, ids.training_id::text) as training_label, s.account_id || '/' || s.user_id as user_key,
  u.name as user_name
from safety.training_employee_status s
cross join lateral (values (true, s.complete_training_ids), (false, s.incomplete_training_ids)) as list (is_complete, training_ids)
cross join lateral unnest(list.training_ids) as ids (training_id)
left join safety.users u on u.account_id = s.account_id and u.id = s.user_id
left join safety.labels training
  on training.account_id = s.account_id and training.kind = 'training' and training.id = ids.training_id::text
where s._deleted_at is null;
