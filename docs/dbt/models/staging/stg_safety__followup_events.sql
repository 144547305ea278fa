select * from {{ source('safety', 'followup_events') }}
