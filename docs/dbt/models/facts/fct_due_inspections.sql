select * from {{ source('safety', 'due_inspections') }}
