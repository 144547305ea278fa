create or replace view safety.training_expiry as
select c.account_id, c.user_id, u.name as user_name, c.training_id, c.is_required, c.completed_on,
  c.starts_expiring_on, c.expires_on,
  c.expires_on - coalesce(z.today, (now() at time zone 'UTC')::date) as days_until_expiry,
  case
    when c.expires_on < coalesce(z.today, (now() at time zone 'UTC')::date) then 'expired'
    when c.starts_expiring_on <= coalesce(z.today, (now() at time zone 'UTC')::date) then 'expiring'
    else 'active'
  end as expiry_status,
  coalesce(training.label, c.training_id::text) as training_label, c.account_id || '/' || c.user_id as user_key
from safety.training_completions c
join safety.training_employee_status s on s.account_id = c.account_id and s.user_id = c.user_id
left join safety.reporting_clock z on z.account_id = c.account_id
left join safety.users u on u.account_id = c.account_id and u.id = c.user_id
left join safety.labels training
  on training.account_id = c.account_id and training.kind = 'training' and training.id = c.training_id::text
where s._deleted_at is null and c.expires_on is not null;
