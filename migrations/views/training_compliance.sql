create or replace view safety.training_compliance as
select s.account_id, s.user_id, u.name as user_name, s.status,
  case s.status when 'active' then true when 'expiring' then true when 'incomplete' then false end as is_compliant,
  s.percent_complete,
  coalesce(cardinality(s.complete_training_ids), 0) as complete_count,
  coalesce(cardinality(s.incomplete_training_ids), 0) as incomplete_count,
  c.next_expires_on, s.calculated_at,
  (s.calculated_at at time zone coalesce(z.timezone, 'UTC'))::date as calculated_on,
  s.account_id || '/' || s.user_id as user_key,
  case when s.user_id ~ '^[A-Za-z0-9._~-]+$' then replace(z.employee_url, '{id}', s.user_id) end as record_url,
  m.missing_trainings, p.field_office, p.line_of_business, p.job_title, p.supervisor_name, p.is_active
from safety.training_employee_status s
left join safety.people p on p.account_id = s.account_id and p.user_id = s.user_id
left join safety.reporting_clock z on z.account_id = s.account_id
left join safety.users u on u.account_id = s.account_id and u.id = s.user_id
left join (
  select t.account_id, t.user_id, min(t.expires_on) as next_expires_on
  from safety.training_completions t
  left join safety.reporting_clock z on z.account_id = t.account_id
  where t.is_required is not false and t.expires_on >= coalesce(z.today, (now() at time zone 'UTC')::date)
  group by t.account_id, t.user_id
) c on c.account_id = s.account_id and c.user_id = s.user_id
left join (
  select account_id, user_id, string_agg(training_label, ', ' order by training_label) as missing_trainings
  from safety.training_matrix where is_required and state in ('missing', 'expired') group by account_id, user_id
) m on m.account_id = s.account_id and m.user_id = s.user_id
where s._deleted_at is null;
