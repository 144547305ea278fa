select *, user_key || '/' || training_id as user_training_key
from {{ source('safety', 'training_matrix') }}
