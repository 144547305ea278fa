with followups as (
  select
    assignee_key as user_key,
    count(*) filter (where is_open) as open_followups,
    count(*) filter (where is_overdue) as overdue_followups
  from {{ ref('fct_followups') }}
  group by 1
),

trainings as (
  select
    user_key,
    count(*) filter (where is_required) as required_trainings,
    count(*) filter (where is_required and state in ('missing', 'expired')) as lacking_trainings
  from {{ ref('fct_trainings') }}
  group by 1
)

select
  people.user_key,
  people.account_id,
  people.name,
  people.is_trained_here,
  people.is_forgotten,
  coalesce(followups.open_followups, 0) as open_followups,
  coalesce(followups.overdue_followups, 0) as overdue_followups,
  coalesce(trainings.required_trainings, 0) as required_trainings,
  coalesce(trainings.lacking_trainings, 0) as lacking_trainings
from {{ ref('dim_people') }} as people
left join followups on followups.user_key = people.user_key
left join trainings on trainings.user_key = people.user_key
