-- Spans of equal days as arrays, a row for each day from the first one of the calendar to the newest counted one.
create or replace view safety.followup_daily as
select n.account_id, s.from_on + days.after as date, v.status, v.followups::bigint as followups,
  (now() at time zone n.timezone)::date - (s.from_on + days.after) as days_ago
from safety.counted_days n
join safety.followup_days d on d.account_id = n.account_id and d.counted_by = 'all' and d.from_on <= n.counted_to
cross join lateral unnest(d.days, d.days[2:] || d.to_on, d.open, d.overdue, d.closed, d.unknown) as s (from_on, to_on, open, overdue, closed, unknown)
cross join lateral (values ('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)) as v (status, followups)
cross join lateral generate_series(greatest(date '2000-01-01' - s.from_on, 0), least(s.to_on, n.counted_to + 1) - s.from_on - 1) as days (after)
where n.stream = 'followups' and (v.followups > 0 or v.status <> 'unknown');
