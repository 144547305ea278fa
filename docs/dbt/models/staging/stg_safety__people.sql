select
  account_id || '/' || id as user_key,
  account_id,
  id as user_id,
  name
from {{ source('safety', 'users') }}
where _deleted_at is null
