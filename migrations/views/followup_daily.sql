-- A number applies until the next one, the last one to today. The planner expects ten elements of an array, which is about
-- right, but a thousand rows of generate_series, and would compile the plan for longer than the query takes.
create or replace view safety.followup_daily as
select d.account_id, d.date, d.status, d.records::bigint as followups,
  d.today - d.date as days_ago, d.counted @> d.date as is_counted
from (
  select c.account_id, c.id, c.status, p.records, p.in_service, n.today, n.counted, p.from_on + d.number::int - 1 as date
  from (select account_id, counted, (now() at time zone timezone)::date as today from safety.counted_days where stream = 'followups') n
  join safety.day_counts c on c.account_id = n.account_id and c.stream = 'followups' and c.counted_by = 'all'
  cross join lateral unnest(c.days, c.records, c.in_service, c.days[2:] || (n.today + 1)) as p (from_on, records, in_service, to_on)
  cross join lateral unnest(array_fill(0, array[greatest(least(p.to_on, n.today + 1) - p.from_on, 0)])) with ordinality as d (zero, number)
  where p.records > 0 or c.status <> 'unknown'
) d;
