-- Assigned trainings with their completion, and completions of trainings that are not assigned. A training in both lists is
-- not complete.
create or replace view safety.training_matrix as
select m.account_id, m.user_id, m.training_id,
  case
    when m.expires_on < coalesce(z.today, (now() at time zone 'UTC')::date) then 'expired'
    when not m.is_complete then 'missing'
    when m.starts_expiring_on <= coalesce(z.today, (now() at time zone 'UTC')::date) then 'expiring'
    else 'complete'
  end as state,
  coalesce(m.is_required, case when m.is_assigned then true end) as is_required, m.expires_on,
  m.expires_on - coalesce(z.today, (now() at time zone 'UTC')::date) as days_until_expiry,
  m.is_assigned, m.completed_on, u.name as user_name,
  coalesce(training.label, training_name.name, m.training_id::text) as training_label, m.account_id || '/' || m.user_id as user_key,
  m.is_complete, m.starts_expiring_on,
  m.account_id || '/' || m.training_id as training_key
from (
  select a.account_id, a.user_id, a.training_id, a.is_complete, true as is_assigned,
    c.is_required, c.completed_on, c.starts_expiring_on, c.expires_on
  from (
    select s.account_id, s.user_id, ids.training_id, bool_and(list.is_complete) as is_complete
    from safety.training_employee_status s
    cross join lateral (values (true, s.complete_training_ids), (false, s.incomplete_training_ids)) as list (is_complete, training_ids)
    cross join lateral unnest(list.training_ids) as ids (training_id)
    where s._deleted_at is null
    group by s.account_id, s.user_id, ids.training_id
  ) a
  left join safety.training_completions c
    on c.account_id = a.account_id and c.user_id = a.user_id and c.training_id = a.training_id
  union all
  select c.account_id, c.user_id, c.training_id, true, false, c.is_required, c.completed_on, c.starts_expiring_on, c.expires_on
  from safety.training_completions c
  join safety.training_employee_status s on s.account_id = c.account_id and s.user_id = c.user_id
  where s._deleted_at is null
    and (c.training_id = any (s.complete_training_ids)) is not true
    and (c.training_id = any (s.incomplete_training_ids)) is not true
) m
left join safety.reporting_clock z on z.account_id = m.account_id
left join safety.users u on u.account_id = m.account_id and u.id = m.user_id
left join safety.labels training on training.account_id = m.account_id and training.kind = 'training' and training.id = m.training_id::text
left join safety.names training_name on training_name.account_id = m.account_id and training_name._key = 'training:' || m.training_id;
