create or replace view safety.equipment_status_daily as
select s.account_id, dates.date, s.status, segment.equipment, segment.in_service, s.today - dates.date as days_ago
from (
  select d.account_id, d.counted_to, d.today, d.status, d.day, (sum(d.equipment) over w)::bigint as equipment, coalesce(sum(d.in_service) over w, 0)::bigint as in_service,
    lead(d.day) over w as next_day, row_number() over w = 1 as is_first, min(d.day) over (partition by d.account_id) as first_day
  from (
    select n.account_id, n.counted_to, (now() at time zone n.timezone)::date as today, coalesce(h.status, 'unknown') as status,
      step.day, sum(step.change) as equipment, sum(step.change) filter (where h.is_in_service) as in_service
    from safety.counted_days n
    join safety.equipment_history h on h.account_id = n.account_id
    cross join lateral (values
      ((h.valid_from at time zone n.timezone)::date, 1), ((h.valid_to at time zone n.timezone)::date, -1)
    ) as step (day, change)
    where n.stream = 'equipments' and step.day <= n.counted_to
    group by n.account_id, n.counted_to, n.timezone, coalesce(h.status, 'unknown'), step.day
  ) d
  window w as (partition by d.account_id, d.status order by d.day)
) s
cross join lateral (values
  (s.day, coalesce(s.next_day - 1, s.counted_to), s.equipment, s.in_service),
  (case when s.is_first then s.first_day end, s.day - 1, 0, 0)
) as segment (from_day, to_day, equipment, in_service)
join safety.calendar dates on dates.date between segment.from_day and segment.to_day;
