-- An open follow-up has no closing time here, also if the service keeps an earlier one. Ages and times to close are at least 0,
-- because the clock of a device may differ from that of the service.
create or replace view safety.followup_overview as
select f.account_id, f.id, f.form_id, f.response_id, f.is_open, f.created_at, f.updated_at,
  f.observer_id, observer.name as observer_name, f.assigner_id, assigner.name as assigner_name,
  f.assignee_id, assignee.name as assignee_name, f.due_on, case when f.is_open is not true then f.resolved_at end as resolved_at,
  f.completer_id, completer.name as completer_name, f.is_in_progress, f.field_id, f.display_id,
  coalesce(f.is_open and f.due_on < f.today, false) as is_overdue,
  case when f.is_open is not true then null when f.created_on > f.today then 0 else f.today - f.created_on end as age_days,
  case when f.is_open then null when f.resolved_on < f.created_on then 0 else f.resolved_on - f.created_on end as days_to_resolve,
  f.message_count::bigint as message_count, f.reassignment_count::bigint as reassignment_count, f.last_message_at,
  coalesce(form.label, form_name.name, f.form_id::text) as form_label,
  f.created_on, f.updated_on, case when f.is_open is not true then f.resolved_on end as resolved_on, f.last_message_on,
  case when f.is_open then f.due_on - f.today end as days_until_due,
  case when f.is_open and f.due_on < f.today then f.today - f.due_on end as days_overdue,
  case when f.is_open then
    case width_bucket(f.today - f.created_on, array[8, 31, 61, 91])
      when 0 then '00-07' when 1 then '08-30' when 2 then '31-60' when 3 then '61-90' when 4 then '91+' end
  end as age_bucket,
  case when not f.is_open then f.resolved_on <= f.due_on end as closed_in_time,
  f.first_response_at, f.first_response_on,
  coalesce(h.due_changes + (f.due_on is distinct from h.last_due)::int, 0) as due_changes,
  coalesce(h.reopen_count + (f.is_open and not h.last_open)::int, h.reopen_count, 0) as reopen_count,
  f.account_id || '/' || f.id as followup_key, f.account_id || '/' || nullif(f.assignee_id, '') as assignee_key,
  f.account_id || '/' || nullif(f.observer_id, '') as observer_key, f.account_id || '/' || nullif(f.assigner_id, '') as assigner_key,
  f.account_id || '/' || nullif(f.completer_id, '') as completer_key, case when h.id is null then f.due_on else h.first_due end as first_due_on,
  case when (f.followup_url not like '%{id}%' or f.id ~ '^[A-Za-z0-9._~-]+$') and (f.followup_url not like '%{response_id}%' or f.response_id is not null)
      and (f.followup_url not like '%{form_id}%' or f.form_id is not null) then
    replace(replace(replace(f.followup_url, '{id}', f.id), '{response_id}', coalesce(f.response_id::text, '')), '{form_id}', coalesce(f.form_id::text, ''))
  end as record_url,
  f.account_id || '/' || f.form_id as form_key,
  coalesce(form_group.label, form_group_name.name, form.parent_id collate "default") as form_group,
  (select m.note from safety.followup_messages m where m.account_id = f.account_id and m.followup_id = f.id
    order by m.position limit 1) as first_note,
  (select m.note from safety.followup_messages m where m.account_id = f.account_id and m.followup_id = f.id
    order by m.position desc limit 1) as last_note,
  coalesce(assignee.name, nullif(f.assignee_id, '') collate "default", assigner.name, nullif(f.assigner_id, '') collate "default") as responsible_name,
  offices.field_offices,
  supervisor.name as supervisor_name
from (
  select c.account_id, c.id, c.form_id, c.response_id, c.is_open, c.created_at, c.updated_at, c.observer_id, c.assigner_id,
    c.assignee_id, c.due_on, c.resolved_at, c.completer_id, c.is_in_progress, c.field_id, c.display_id, c._message_count as message_count,
    c._reassignment_count as reassignment_count, c._last_message_at as last_message_at, c._first_response_at as first_response_at,
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
left join safety.users supervisor on supervisor.account_id = f.account_id and supervisor.id = assignee.supervisor_id
left join safety.users completer on completer.account_id = f.account_id and completer.id = f.completer_id
left join safety.labels form on form.account_id = f.account_id and form.kind = 'form' and form.id = f.form_id::text
left join safety.names form_name on form_name.account_id = f.account_id and form_name._key = 'form:' || f.form_id
left join safety.labels form_group on form_group.account_id = f.account_id and form_group.kind = 'form' and form_group.id = form.parent_id
left join safety.names form_group_name on form_group_name.account_id = f.account_id and form_group_name._key = 'form:' || form.parent_id
left join (select account_id, user_id, string_agg(label, ', ' order by label) as field_offices
  from safety.people_field_offices group by account_id, user_id) offices
  on offices.account_id = f.account_id and offices.user_id = f.assignee_id
left join (
  select s.account_id, s.id, count(*) filter (where s.is_moved) as due_changes,
    count(*) filter (where s.is_open and not s.was_open) as reopen_count, min(s.due_on) filter (where s.is_first) as first_due,
    min(s.due_on) filter (where s.is_last) as last_due, bool_and(s.is_open) filter (where s.is_last) as last_open
  from (
    select h.account_id, h.id, h.due_on, h.is_open, lag(h.is_open) over w as was_open, row_number() over w = 1 as is_first,
      lead(h.id) over w is null as is_last, row_number() over w > 1 and h.due_on is distinct from lag(h.due_on) over w as is_moved
    from safety.followup_states h window w as (partition by h.account_id, h.id order by h.valid_from)
  ) s
  group by s.account_id, s.id
) h on h.account_id = f.account_id and h.id = f.id;
