select *, equipment_key || '/' || schedule_id as equipment_schedule_key
from {{ source('safety', 'equipment_inspections') }}
