select * from {{ source('safety', 'followup_overview') }}
