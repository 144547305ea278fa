-- In the yearly window of a training everybody who has not done it since the window opened is due, also with a completion that
-- is valid. A window may go over the end of the year.
create or replace view safety.training_due as
select m.account_id, m.user_id, m.user_name, m.user_key, m.training_id, m.training_label, m.training_key,
  case when m.state = 'complete' then 'window' else m.state end as reason,
  case when m.state in ('expired', 'expiring') then m.expires_on else w.closes_on end as due_on
from safety.training_matrix m
left join (
  select d.account_id, d.id, d.closes_on, case when d.opens_on > d.closes_on then (d.opens_on - interval '1 year')::date else d.opens_on end as opens_on,
    d.today
  from (
    select t.account_id, t.id, z.today, make_date(z.year, left(t.window_opens_on, 2)::int, 1) + right(t.window_opens_on, 2)::int - 1 as opens_on,
      make_date(z.year + (t.window_closes_on < t.window_opens_on and z.month_day > t.window_closes_on)::int, left(t.window_closes_on, 2)::int, 1)
        + right(t.window_closes_on, 2)::int - 1 as closes_on
    from safety.trainings t
    cross join lateral (
      select coalesce((select c.today from safety.reporting_clock c where c.account_id = t.account_id), (now() at time zone 'UTC')::date) as today
    ) n
    cross join lateral (select n.today, extract(year from n.today)::int as year, to_char(n.today, 'MM-DD') as month_day) z
    where t.window_opens_on ~ '^(0[1-9]|1[0-2])-\d\d$' and t.window_closes_on ~ '^(0[1-9]|1[0-2])-\d\d$'
  ) d
) w on w.account_id = m.account_id and w.id = m.training_id and w.today between w.opens_on and w.closes_on
where m.is_required and (m.state <> 'complete' or m.completed_on < w.opens_on);
