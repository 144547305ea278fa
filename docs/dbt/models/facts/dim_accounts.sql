select * from {{ source('safety', 'accounts') }}
