create or replace view safety.training_completion_history as
select h.account_id, h.user_id, h.training_id, h.completed_on, h.expires_on, h.starts_expiring_on, h.is_required,
  h.valid_from, h.valid_to, u.name as user_name, coalesce(training.label, training_name.name, h.training_id::text) as training_label,
  h.account_id || '/' || h.user_id as user_key,
  h.account_id || '/' || h.training_id as training_key
from (
  select account_id, user_id, training_id, completed_on, expires_on, starts_expiring_on, is_required, valid_from, valid_to
  from safety.training_completion_states
  union all
  select c.account_id, c.user_id, c.training_id, c.completed_on, c.expires_on, c.starts_expiring_on, c.is_required,
    c._valid_from,
    case when s._deleted_at is not null then greatest(s._deleted_at, c._valid_from + interval '1 microsecond') end
  from safety.training_completions c
  join safety.training_employee_status s on s.account_id = c.account_id and s.user_id = c.user_id
) h
left join safety.users u
  on u.account_id = h.account_id and u.id = h.user_id
left join safety.labels training on training.account_id = h.account_id and training.kind = 'training' and training.id = h.training_id::text
left join safety.names training_name on training_name.account_id = h.account_id and training_name._key = 'training:' || h.training_id;
