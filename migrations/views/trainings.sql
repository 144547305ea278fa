create or replace view safety.trainings as
select n.account_id, n.id::bigint as id, n.name as title, c.created_at,
  (c.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  case when n._raw ->> 'renewal_months' ~ '^\d{1,6}$' then (n._raw ->> 'renewal_months')::int end as renewal_months,
  case when n._raw ->> 'expiring_days' ~ '^\d{1,6}$' then (n._raw ->> 'expiring_days')::int end as expiring_days,
  n._raw ->> 'schedule_type' as schedule_type,
  lpad(n._raw ->> 'window_open_month', 2, '0') || '-' || lpad(n._raw ->> 'window_open_day', 2, '0') as window_opens_on,
  lpad(n._raw ->> 'window_close_month', 2, '0') || '-' || lpad(n._raw ->> 'window_close_day', 2, '0') as window_closes_on,
  n.account_id || '/' || n.id as training_key
from safety.names n
cross join lateral (
  select case when n._raw ->> 'created' ~ '^[1-9]\d{0,13}$' then to_timestamp((n._raw ->> 'created')::bigint / 1000.0) end as created_at
) c
left join safety.reporting_clock z on z.account_id = n.account_id
where n.kind = 'training' and n._deleted_at is null and n.id ~ '^\d{1,18}$';
