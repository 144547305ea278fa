-- The present closing has the time and the completer that the source has now, as followup_overview shows them; the state
-- with which it began may have been superseded by a correction.
-- Three parts are for Citus (13.2), which would otherwise read the events of all accounts through the coordinator. Each part of the
-- union joins its live follow-ups instead of excluding deleted ones with NOT EXISTS: a condition on the event removes parts from the
-- plan, and Citus then knows the key of inner joins only. Names are grouped by their key. The condition at the end, which is always
-- true, keeps the clock in every plan.
create or replace view safety.followup_events as
select e.account_id, e.followup_id, e.occurred_at, (e.occurred_at at time zone coalesce(z.timezone, 'UTC'))::date as occurred_on,
  e.event, e.user_id, e.from_value, e.to_value, u.name as user_name, e.account_id || '/' || e.followup_id as followup_key,
  e.account_id || '/' || nullif(e.user_id, '') as user_key
from (
  select f.account_id, f.id as followup_id, f.created_at as occurred_at, 'raised' as event, f.observer_id as user_id,
    null::text as from_value, null::text as to_value
  from safety.followups f where f._deleted_at is null
  union all
  select c.account_id, c.followup_id, c.sent_at, 'message', c.user_id, null, null
  from safety.followup_messages c
  join safety.followups f on f.account_id = c.account_id and f.id = c.followup_id
  where f._deleted_at is null
  union all
  select c.account_id, c.followup_id, c.sent_at, 'handed_on', c.user_id,
    c._handed_before, c.reassignee_id
  from safety.followup_messages c
  join safety.followups f on f.account_id = c.account_id and f.id = c.followup_id
  where c.reassignee_id <> '' and f._deleted_at is null
  union all
  select f.account_id, f.id, coalesce(f.resolved_at, f._valid_from), 'closed', f.completer_id, null, null
  from safety.followups f where f._deleted_at is null and not f.is_open and f._was_open is not false
  union all
  select s.account_id, s.id,
    coalesce(case when s.is_last and not f.is_open and not f._was_open then f.resolved_at end, s.resolved_at, s.valid_from), 'closed',
    case when s.is_last and not f.is_open and not f._was_open then f.completer_id else s.completer_id end, null, null
  from (
    select c.account_id, c.id, c.resolved_at, c.completer_id, c.valid_from,
      c.valid_from = max(c.valid_from) over (partition by c.account_id, c.id) as is_last
    from safety.followup_states c where not c.is_open and c._was_open is not false
  ) s
  join safety.followups f on f.account_id = s.account_id and f.id = s.id
  where f._deleted_at is null
  union all
  select f.account_id, f.id, f._valid_from, 'reopened', null, null, null
  from safety.followups f where f._deleted_at is null and f.is_open and not f._was_open
  union all
  select s.account_id, s.id, s.valid_from, 'reopened', null, null, null
  from safety.followup_states s
  join safety.followups f on f.account_id = s.account_id and f.id = s.id
  where s.is_open and not s._was_open and f._deleted_at is null
  union all
  select f.account_id, f.id, f._valid_from, 'due_moved', null, f._due_before::text, f.due_on::text
  from safety.followups f where f._deleted_at is null and f._due_moved
  union all
  select s.account_id, s.id, s.valid_from, 'due_moved', null, s._due_before::text, s.due_on::text
  from safety.followup_states s
  join safety.followups f on f.account_id = s.account_id and f.id = s.id
  where s._due_moved and f._deleted_at is null
) e
left join safety.reporting_clock z on z.account_id = e.account_id
left join (select account_id, id, max(name) as name from safety.users group by 1, 2) u
  on u.account_id = e.account_id and u.id = e.user_id
where z.timezone is null or z.timezone is not null;
