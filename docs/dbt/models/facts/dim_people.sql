select * from {{ source('safety', 'people') }}
