select * from {{ source('safety', 'equipment_status_daily') }}
