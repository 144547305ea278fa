select * from {{ source('safety', 'training_status_daily') }}
