create or replace view safety.training_employee_status_history as
select h.account_id, h.user_id, h.status, h.percent_complete, h.incomplete_training_ids, h.complete_training_ids,
  h.calculated_at, h.valid_from, h.valid_to,
  (h.calculated_at at time zone coalesce(z.timezone, 'UTC'))::date as calculated_on,
  h.account_id || '/' || h.user_id as user_key, u.name as user_name
from (
  select account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
    valid_from, valid_to
  from safety.training_employee_status_states
  union all
  select account_id, user_id, status, percent_complete, incomplete_training_ids, complete_training_ids, calculated_at,
    _valid_from,
    case when _deleted_at is not null then greatest(_deleted_at, _valid_from + interval '1 microsecond') end
  from safety.training_employee_status
) h
left join safety.reporting_clock z on z.account_id = h.account_id
left join safety.users u
  on u.account_id = h.account_id and u.id = h.user_id;
