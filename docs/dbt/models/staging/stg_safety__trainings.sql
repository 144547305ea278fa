select
  user_key || '/' || training_id as user_training_key,
  user_key,
  account_id,
  user_name,
  training_id,
  training_label as training,
  state,
  is_required,
  expires_on
from {{ source('safety', 'training_matrix') }}
