select * from {{ source('safety', 'followup_daily') }}
