select * from {{ source('safety', 'equipment_overview') }}
