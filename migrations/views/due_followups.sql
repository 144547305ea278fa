-- An earlier due day came if it was the due day at its end.
create or replace view safety.due_followups as
select d.account_id, d.id as followup_id, d.due_on, d.done_on,
  case when d.done_on is not null then d.done_on <= d.due_on when d.due_on < d.today then false end as done_in_time,
  d.form_id, coalesce(form.label, form_name.name, d.form_id::text) as form_label, d.assignee_id, u.name as assignee_name,
  d.account_id || '/' || nullif(d.assignee_id, '') as assignee_key, d.account_id || '/' || d.id as followup_key,
  d.account_id || '/' || d.form_id as form_key,
  coalesce(form_group.label, form_group_name.name, form.parent_id collate "default") as form_group
from (
  select f.account_id, f.id, f.due_on, f.form_id, f.assignee_id, coalesce(z.today, (now() at time zone 'UTC')::date) as today,
    case when not f.is_open then (coalesce(f.resolved_at, f._valid_from) at time zone coalesce(z.timezone, 'UTC'))::date end as done_on
  from safety.followups f
  left join safety.reporting_clock z on z.account_id = f.account_id
  where f._deleted_at is null
  union all
  select s.account_id, s.id, s.due_on, s.form_id, s.assignee_id, s.today,
    case when not s.was_open then (s.resolved_at at time zone s.zone)::date end
  from (
    select s.account_id, s.id, s.due_on, s.form_id, s.assignee_id, s.valid_from, s.valid_to,
      coalesce(z.today, (now() at time zone 'UTC')::date) as today, coalesce(z.timezone, 'UTC') as zone,
      first_value(s.is_open) over last as was_open, first_value(coalesce(s.resolved_at, s.valid_from)) over last as resolved_at
    from safety.followup_states s
    join safety.followups f on f.account_id = s.account_id and f.id = s.id
    left join safety.reporting_clock z on z.account_id = s.account_id
    where f._deleted_at is null and s.due_on is distinct from f.due_on
    -- The last state with this due day: it may have been completed late, before it was moved.
    window last as (partition by s.account_id, s.id, s.due_on order by s.valid_from desc)
  ) s
  where s.due_on >= (s.valid_from at time zone s.zone)::date and s.due_on < (s.valid_to at time zone s.zone)::date
) d
left join safety.labels form on form.account_id = d.account_id and form.kind = 'form' and form.id = d.form_id::text
left join safety.names form_name on form_name.account_id = d.account_id and form_name._key = 'form:' || d.form_id
left join safety.labels form_group on form_group.account_id = d.account_id and form_group.kind = 'form' and form_group.id = form.parent_id
left join safety.names form_group_name on form_group_name.account_id = d.account_id and form_group_name._key = 'form:' || form.parent_id
left join safety.users u on u.account_id = d.account_id and u.id = d.assignee_id
where d.due_on <= d.today;
