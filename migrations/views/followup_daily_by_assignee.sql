create or replace view safety.followup_daily_by_assignee as
select n.account_id, s.from_on + days.after as date, v.status, v.followups::bigint as followups, nullif(d.id, '') as assignee_id,
  u.name as assignee_name, (now() at time zone n.timezone)::date - (s.from_on + days.after) as days_ago,
  n.account_id || '/' || nullif(d.id, '') as assignee_key
from safety.counted_days n
join safety.followup_days d on d.account_id = n.account_id and d.counted_by = 'assignee' and d.from_on <= n.counted_to
cross join lateral unnest(d.days, d.days[2:] || d.to_on, d.open, d.overdue, d.closed, d.unknown) as s (from_on, to_on, open, overdue, closed, unknown)
cross join lateral (values ('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)) as v (status, followups)
cross join lateral generate_series(greatest(date '2000-01-01' - s.from_on, 0), least(s.to_on, n.counted_to + 1) - s.from_on - 1) as days (after)
left join safety.users u on u.account_id = d.account_id and u.id = d.id
where n.stream = 'followups' and v.followups > 0;
