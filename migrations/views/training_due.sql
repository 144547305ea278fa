-- In the yearly window of a training each person without a completion since the window opened is due, also with an older
-- completion that is valid. A window may go over the end of the year.
create or replace view safety.training_due as
select m.account_id, m.user_id, m.user_name, m.user_key, m.training_id, m.training_label, m.training_key,
  case when m.state = 'complete' then 'window' else m.state end as reason,
  case when m.state in ('expired', 'expiring') then m.expires_on else w.closes_on end as due_on
from safety.training_matrix m
left join (
  select d.account_id, d.id, d.closes_on, case when d.opens_on > d.closes_on then (d.opens_on - interval '1 year')::date else d.opens_on end as opens_on,
    d.today
  from (
    select t.account_id, t.id, t.today, make_date(t.year, left(t.window_opens_on, 2)::int, 1) + right(t.window_opens_on, 2)::int - 1 as opens_on,
      make_date(t.year + (t.window_closes_on < t.window_opens_on and to_char(t.today, 'MM-DD') > t.window_closes_on)::int,
        left(t.window_closes_on, 2)::int, 1) + right(t.window_closes_on, 2)::int - 1 as closes_on
    from (
      select x.account_id, x.id, x.window_opens_on, x.window_closes_on, coalesce(z.today, (now() at time zone 'UTC')::date) as today,
        extract(year from coalesce(z.today, now() at time zone 'UTC'))::int as year
      from safety.trainings x left join safety.reporting_clock z on z.account_id = x.account_id
      where x.window_opens_on ~ '^(0[1-9]|1[0-2])-\d\d$' and x.window_closes_on ~ '^(0[1-9]|1[0-2])-\d\d$'
    ) t
  ) d
) w on w.account_id = m.account_id and w.id = m.training_id and w.today between w.opens_on and w.closes_on
where m.is_required and (m.state <> 'complete' or m.completed_on < w.opens_on);
