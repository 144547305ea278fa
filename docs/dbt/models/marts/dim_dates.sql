select *
from {{ source('safety', 'calendar') }}
where date between current_date - 1826 and current_date + 366
