select * from {{ source('safety', 'due_followups') }}
