select * from {{ source('safety', 'training_compliance') }}
