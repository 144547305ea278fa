select
  user_key,
  account_id,
  user_id,
  name,
  is_trained_here,
  is_forgotten
from {{ source('safety', 'people') }}
