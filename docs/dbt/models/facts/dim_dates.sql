select * from {{ source('safety', 'calendar') }}
