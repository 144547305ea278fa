create or replace view safety.training_status_daily as
select s.account_id, dates.date, s.status, segment.employees, s.today - dates.date as days_ago
from (
  select a.account_id, a.today, d.status, d.day, (sum(d.employees) over w)::bigint as employees,
    lead(d.day) over w as next_day, row_number() over w = 1 as is_first,
    min(d.day) over (partition by a.account_id) as first_day
  from (
    select e.account_id, coalesce(z.timezone, 'UTC') as timezone,
      (now() at time zone coalesce(z.timezone, 'UTC'))::date as today
    from (select account_id from safety.training_employee_status group by account_id) e
    left join safety.reporting_settings z on z.account_id = e.account_id
    group by 1, 2, 3
  ) a cross join lateral (
    select t.status, step.day, sum(step.change * t.states) as employees
    from (
      select coalesce(h.status, 'unknown') as status,
        (h.valid_from at time zone a.timezone)::date as from_day,
        coalesce((h.valid_to at time zone a.timezone)::date, date 'infinity') as to_day,
        count(*) as states
      from safety.training_employee_status_history h
      where h.account_id = a.account_id
      group by 1, 2, 3
    ) t cross join lateral (values (t.from_day, 1), (t.to_day, -1)) as step (day, change)
    where step.day <= a.today
    group by t.status, step.day
  ) d
  window w as (partition by a.account_id, d.status order by d.day)
) s
cross join lateral (values
  (s.day, coalesce(s.next_day - 1, s.today), s.employees),
  (case when s.is_first then s.first_day end, s.day - 1, 0)
) as segment (from_day, to_day, employees)
join safety.calendar dates on dates.date between segment.from_day and segment.to_day;
