select
  account_id,
  equipment_type_id,
  equipment_type_label,
  schedule_id,
  schedule_label,
  count(*) as in_service,
  count(*) filter (where status in ('uptodate', 'expiring')) as valid,
  count(*) filter (where status = 'expired') as expired,
  count(*) filter (where status = 'expiring') as expiring,
  count(*) filter (where last_completed_on is null) as never_inspected
from {{ ref('fct_inspections') }}
where is_in_service
group by 1, 2, 3, 4, 5
