with raised as (
  select account_id, date_trunc('month', created_on)::date as month, form_id, form_label, count(*) as raised
  from {{ ref('fct_followups') }}
  group by 1, 2, 3, 4
),

closed as (
  select
    account_id,
    date_trunc('month', resolved_on)::date as month,
    form_id,
    form_label,
    count(*) as closed,
    count(closed_in_time) as closed_with_due_day,
    count(*) filter (where closed_in_time) as closed_in_time,
    percentile_cont(0.5) within group (order by days_to_resolve) as median_days_to_close
  from {{ ref('fct_followups') }}
  where not is_open and resolved_on is not null
  group by 1, 2, 3, 4
)

select
  coalesce(raised.account_id, closed.account_id) as account_id,
  coalesce(raised.month, closed.month) as month,
  coalesce(raised.form_id, closed.form_id) as form_id,
  coalesce(raised.form_label, closed.form_label) as form_label,
  coalesce(raised.raised, 0) as raised,
  coalesce(closed.closed, 0) as closed,
  coalesce(closed.closed_with_due_day, 0) as closed_with_due_day,
  coalesce(closed.closed_in_time, 0) as closed_in_time,
  closed.median_days_to_close
from raised
full join closed
  on closed.account_id = raised.account_id and closed.month = raised.month
  and coalesce(closed.form_id, -1) = coalesce(raised.form_id, -1)
