select
  equipment_key || '/' || schedule_id as equipment_schedule_key,
  equipment_key,
  account_id,
  title,
  equipment_type_label as equipment_type,
  schedule_label as schedule,
  is_in_service,
  status,
  last_completed_on,
  expires_on
from {{ source('safety', 'equipment_inspections') }}
