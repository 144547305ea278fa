select * from {{ source('safety', 'inspection_completions') }}
