-- Spans of equal days, a row for each day from the first one of the calendar to the newest counted one.
create or replace view safety.followup_daily as
select n.account_id, d.from_on + days.after as date, s.status, s.followups::bigint as followups,
  (now() at time zone n.timezone)::date - (d.from_on + days.after) as days_ago
from safety.counted_days n
join safety.followup_days d on d.account_id = n.account_id and d.counted_by = 'all' and d.from_on <= n.counted_to
cross join lateral (values ('open', d.open), ('overdue', d.overdue), ('closed', d.closed), ('unknown', d.unknown)) as s (status, followups)
cross join lateral generate_series(greatest(date '2000-01-01' - d.from_on, 0), least(d.to_on, n.counted_to + 1) - d.from_on - 1) as days (after)
where n.stream = 'followups' and (s.followups > 0 or s.status <> 'unknown');
