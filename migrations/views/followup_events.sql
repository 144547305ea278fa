-- The present closing has the time and the completer that the source has now, as followup_overview shows them; the state
-- with which it began may have been superseded by a correction.
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
  join safety.followups f on f.account_id = c.account_id and f.id = c.followup_id and f._deleted_at is null
  union all
  select c.account_id, c.followup_id, c.sent_at, 'handed_on', c.user_id,
    lag(c.reassignee_id) over (partition by c.account_id, c.followup_id order by c.position), c.reassignee_id
  from safety.followup_messages c
  join safety.followups f on f.account_id = c.account_id and f.id = c.followup_id and f._deleted_at is null
  where c.reassignee_id <> ''
  union all
  select s.account_id, s.id, v.occurred_at, v.event, v.user_id, v.due_before::text, v.due_on::text
  from (
    select h.account_id, h.id, h.is_open, h.due_on, h.resolved_at, h.completer_id, h.valid_from,
      lag(h.is_open) over w as was_open, lag(h.due_on) over w as due_before, row_number() over w = 1 as is_first,
      last_value(h.resolved_at) over later as resolved_last, last_value(h.completer_id) over later as completer_last,
      bool_and(h.is_open is false) over later as is_present
    from (
      select s.account_id, s.id, s.is_open, s.due_on, s.resolved_at, s.completer_id, s.valid_from
      from safety.followup_states s
      join safety.followups f on f.account_id = s.account_id and f.id = s.id and f._deleted_at is null
      union all
      select account_id, id, is_open, due_on, resolved_at, completer_id, _valid_from
      from safety.followups where _deleted_at is null
    ) h
    window w as (partition by h.account_id, h.id order by h.valid_from),
      later as (partition by h.account_id, h.id order by h.valid_from rows between current row and unbounded following)
  ) s
  cross join lateral (values
    ('closed', not s.is_open and s.was_open is not false, coalesce(case when s.is_present then s.resolved_last end, s.resolved_at, s.valid_from),
      case when s.is_present then s.completer_last else s.completer_id end, null, null),
    ('reopened', s.is_open and not s.was_open, s.valid_from, null, null, null),
    ('due_moved', not s.is_first and s.due_on is distinct from s.due_before, s.valid_from, null, s.due_before, s.due_on)
  ) as v (event, has_happened, occurred_at, user_id, due_before, due_on)
  where v.has_happened and (s.is_open is distinct from s.was_open or s.due_on is distinct from s.due_before)
) e
left join safety.reporting_clock z on z.account_id = e.account_id
left join safety.users u on u.account_id = e.account_id and u.id = e.user_id;
