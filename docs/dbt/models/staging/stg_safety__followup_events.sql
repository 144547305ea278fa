select
  followup_key,
  account_id,
  event,
  occurred_at,
  occurred_on,
  user_key,
  user_name,
  from_value,
  to_value
from {{ source('safety', 'followup_events') }}
