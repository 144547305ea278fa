create or replace view safety.followup_history as
select h.account_id, h.id, h.form_id, h.response_id, h.is_open, h.created_at, h.updated_at, h.observer_id, h.assigner_id,
  h.assignee_id, h.due_on, h.resolved_at, h.completer_id, h.is_in_progress, h.field_id, h.valid_from, h.valid_to,
  coalesce(form.label, form_name.name, h.form_id::text) as form_label,
  (h.created_at at time zone coalesce(z.timezone, 'UTC'))::date as created_on,
  (h.updated_at at time zone coalesce(z.timezone, 'UTC'))::date as updated_on,
  (h.resolved_at at time zone coalesce(z.timezone, 'UTC'))::date as resolved_on,
  h.account_id || '/' || h.id as followup_key,
  observer.name as observer_name, assigner.name as assigner_name, assignee.name as assignee_name, completer.name as completer_name,
  h.account_id || '/' || nullif(h.observer_id, '') as observer_key, h.account_id || '/' || nullif(h.assigner_id, '') as assigner_key,
  h.account_id || '/' || nullif(h.assignee_id, '') as assignee_key, h.account_id || '/' || nullif(h.completer_id, '') as completer_key,
  h.account_id || '/' || h.form_id as form_key,
  coalesce(form_group.label, form_group_name.name, form.parent_id collate "default") as form_group
from (
  select account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
    due_on, resolved_at, completer_id, is_in_progress, field_id, valid_from, valid_to
  from safety.followup_states
  union all
  select account_id, id, form_id, response_id, is_open, created_at, updated_at, observer_id, assigner_id, assignee_id,
    due_on, resolved_at, completer_id, is_in_progress, field_id, _valid_from,
    case when _deleted_at is not null then greatest(_deleted_at, _valid_from + interval '1 microsecond') end
  from safety.followups
) h
left join safety.reporting_clock z on z.account_id = h.account_id
left join safety.users observer
  on observer.account_id = h.account_id and observer.id = h.observer_id
left join safety.users assigner
  on assigner.account_id = h.account_id and assigner.id = h.assigner_id
left join safety.users assignee
  on assignee.account_id = h.account_id and assignee.id = h.assignee_id
left join safety.users completer
  on completer.account_id = h.account_id and completer.id = h.completer_id
left join safety.labels form on form.account_id = h.account_id and form.kind = 'form' and form.id = h.form_id::text
left join safety.names form_name on form_name.account_id = h.account_id and form_name._key = 'form:' || h.form_id
left join safety.labels form_group on form_group.account_id = h.account_id and form_group.kind = 'form' and form_group.id = form.parent_id
left join safety.names form_group_name on form_group_name.account_id = h.account_id and form_group_name._key = 'form:' || form.parent_id;
