select
  account_id,
  training_id,
  training_label,
  count(*) as required,
  count(*) filter (where state in ('complete', 'expiring')) as valid,
  count(*) filter (where state = 'expiring') as expiring,
  count(*) filter (where state = 'expired') as expired,
  count(*) filter (where state = 'missing') as missing
from {{ ref('fct_trainings') }}
where is_required
group by 1, 2, 3
