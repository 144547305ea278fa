-- An open follow-up has no closing time here, also if the service keeps an earlier one. Ages and times to close are at least 0,
-- because the clock of a device may differ from that of the service.
create or replace view safety.followup_overview as
select f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
  f.observer_id, observer.name as observer_name, f.assigner_id, assigner.name as assigner_name,
  f.assignee_id, assignee.name as assignee_name, f.due_on, case when f.is_open is not true then f.resolved_at end as resolved_at,
  f.completer_id, completer.name as completer_name,
  coalesce(f.is_open and f.due_on < f.today, false) as is_overdue,
  case when f.is_open is not true then null when f.created_on > f.today then 0 else f.today - f.created_on end as age_days,
  case when f.is_open then null when f.resolved_on < f.created_on then 0 else f.resolved_on - f.created_on end as days_to_resolve,
  f.message_count::bigint as message_count, f.reassignment_count::bigint as reassignment_count, f.last_message_at,
  coalesce(form.label, f.form_id::text) as form_label,
  f.created_on, f.updated_on, case when f.is_open is not true then f.resolved_on end as resolved_on, f.last_message_on,
  case when f.is_open then f.due_on - f.today end as days_until_due,
  case when f.is_open and f.due_on < f.today then f.today - f.due_on end as days_overdue,
  case when f.is_open then
    case width_bucket(f.today - f.created_on, array[8, 31, 61, 91])
      when 0 then '00-07' when 1 then '08-30' when 2 then '31-60' when 3 then '61-90' when 4 then '91+' end
  end as age_bucket,
  case when not f.is_open then f.resolved_on <= f.due_on end as closed_in_time,
  f.first_response_at, f.first_response_on,
  f.due_changes::bigint as due_changes, f.reopen_count::bigint as reopen_count,
  f.account_id || '/' || f.id as followup_key, f.account_id || '/' || nullif(f.assignee_id, '') as assignee_key,
  f.account_id || '/' || nullif(f.observer_id, '') as observer_key, f.account_id || '/' || nullif(f.assigner_id, '') as assigner_key,
  f.account_id || '/' || nullif(f.completer_id, '') as completer_key, f.first_due_on,
  case when f.id ~ '^[A-Za-z0-9._~-]+$' then replace(f.followup_url, '{id}', f.id) end as record_url
from (
  select c.account_id, c.id, c.form_id, c.response_id, c.is_open, c.created_at, c.updated_at, c.observer_id, c.assigner_id,
    c.assignee_id, c.due_on, c.resolved_at, c.completer_id, c._message_count as message_count,
    c._reassignment_count as reassignment_count, c._last_message_at as last_message_at, c._first_response_at as first_response_at,
    c._due_changes as due_changes, c._reopen_count as reopen_count,
    case when c._due_changes = 0 then c.due_on else c._first_due end as first_due_on,
    coalesce(z.today, (now() at time zone 'UTC')::date) as today, z.followup_url,
    (c.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
    (c.updated_at at time zone coalesce(z.timezone, 'UTC'))::date as updated_on,
    (c.resolved_at at time zone coalesce(z.timezone, 'UTC'))::date as resolved_on,
    (c._last_message_at at time zone coalesce(z.timezone, 'UTC'))::date as last_message_on,
    (c._first_response_at at time zone coalesce(z.timezone, 'UTC'))::date as first_response_on
  from safety.followups c
  left join safety.reporting_clock z on z.account_id = c.account_id
  where c._deleted_at is null
) f
left join safety.users observer on observer.account_id = f.account_id and observer.id = f.observer_id
left join safety.users assigner on assigner.account_id = f.account_id and assigner.id = f.assigner_id
left join safety.users assignee on assignee.account_id = f.account_id and assignee.id = f.assignee_id
left join safety.users completer on completer.account_id = f.account_id and completer.id = f.completer_id
left join safety.labels form on form.account_id = f.account_id and form.kind = 'form' and form.id = f.form_id::text;
