create or replace view safety.training_status_daily as
select s.account_id, dates.date, s.status, segment.employees, s.today - dates.date as days_ago
from (
  select n.account_id, n.counted_to, (now() at time zone n.timezone)::date as today, d.status, d.day, (sum(d.employees) over w)::bigint as employees,
    lead(d.day) over w as next_day, row_number() over w = 1 as is_first, min(d.day) over (partition by n.account_id) as first_day
  from safety.counted_days n
  cross join lateral (
    select t.status, step.day, sum(step.change * t.employees) as employees
    from (
      select coalesce(h.status, 'unknown') as status, (h.valid_from at time zone n.timezone)::date as from_day,
        coalesce((h.valid_to at time zone n.timezone)::date, date 'infinity') as to_day, count(*) as employees
      from safety.training_employee_status_history h
      where h.account_id = n.account_id
      group by 1, 2, 3
    ) t cross join lateral (values (t.from_day, 1), (t.to_day, -1)) as step (day, change)
    where step.day <= n.counted_to
    group by t.status, step.day
  ) d
  where n.stream = 'training-employee-status'
  window w as (partition by n.account_id, d.status order by d.day)
) s
cross join lateral (values
  (s.day, coalesce(s.next_day - 1, s.counted_to), s.employees),
  (case when s.is_first then s.first_day end, s.day - 1, 0)
) as segment (from_day, to_day, employees)
join safety.calendar dates on dates.date between segment.from_day and segment.to_day;
