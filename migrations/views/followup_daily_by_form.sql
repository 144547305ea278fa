create or replace view safety.followup_daily_by_form as
select k.account_id, k.date, k.status, k.followups::bigint as followups, k.id::bigint as form_id, coalesce(form.label, k.id) as form_label,
  k.days_ago
from (
  select o.account_id, o.date, unnest(o.statuses) as status, unnest(o.followups) as followups, unnest(o.ids) as id,
    n.today - o.date as days_ago
  from safety.followup_days o
  join safety.reporting_clock n on n.account_id = o.account_id and (n.timezone = o.timezone or o.is_final)
  where o.counted_by = 'form' and o.date < n.today
  union all
  select s.account_id, dates.date, counted.status, counted.followups, s.id, s.today - dates.date
  from (
    select a.account_id, a.today, d.id, d.day, lead(d.day) over w as next_day,
      (sum(d.open) over w)::int as open, (sum(d.overdue) over w)::int as overdue,
      (sum(d.closed) over w)::int as closed, (sum(d.unknown) over w)::int as unknown
    from (
      select b.account_id, b.timezone, b.today, b.kept_to, coalesce(b.kept_to + 1, date '-infinity') as first_live,
        coalesce(b.kept_to + 1, date '-infinity')::timestamp at time zone b.timezone as live_from
      from (
        select f.account_id, coalesce(z.timezone, 'UTC') as timezone,
          (now() at time zone coalesce(z.timezone, 'UTC'))::date as today, kept.kept_to
        from (select account_id from safety.followups group by account_id) f
        left join safety.reporting_settings z on z.account_id = f.account_id
        left join (
          select o.account_id, max(o.date) as kept_to
          from safety.followup_days o
          join safety.reporting_settings n on n.account_id = o.account_id and (n.timezone = o.timezone or o.is_final)
          where o.counted_by = 'all' group by o.account_id
        ) kept on kept.account_id = f.account_id
      ) b
      where coalesce(b.kept_to + 1, date '-infinity') < b.today
      group by 1, 2, 3, 4, 5, 6
    ) a cross join lateral (
      select t.id, step.day, sum(t.states * step.open) as open, sum(t.states * step.overdue) as overdue,
        sum(case when t.is_known then t.states * step.closed else 0 end) as closed,
        sum(case when t.is_known then 0 else t.states * step.closed end) as unknown
      from (
        select h.form_id::text as id, case when h.valid_from < a.live_from then a.first_live
            when f.first_from <> h.valid_from then (h.valid_from at time zone a.timezone)::date
            when h.created_at < a.live_from then a.first_live
            else (least(h.created_at, h.valid_from) at time zone a.timezone)::date end as from_day,
          coalesce((h.valid_to at time zone a.timezone)::date, date 'infinity') as to_day,
          case when h.is_open then date 'infinity'
            when h.is_open is null or h.closed_at < a.live_from then date '-infinity'
            else (h.closed_at at time zone a.timezone)::date end as closed_on,
          case when h.due_on < a.first_live then a.first_live - 1 else h.due_on end as due_on,
          h.is_open is not null as is_known, count(*) as states
        from (
          select b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.due_on, b.valid_from,
            case when b.resolved_at <= now() then b.resolved_at else b.valid_from end as closed_at, b.valid_to
          from safety.followup_states b
          where b.account_id = a.account_id and b.valid_to >= a.live_from
          union all
          select b.account_id, b.id, b.form_id, b.is_open, b.created_at, b.due_on, b._valid_from,
            case when b.resolved_at <= now() then b.resolved_at else b._valid_from end as closed_at,
            case when b._deleted_at is not null then greatest(b._deleted_at, b._valid_from + interval '1 microsecond') end
          from safety.followups b
          where b.account_id = a.account_id
            and (b._deleted_at is null or b._deleted_at >= a.live_from or b._valid_from >= a.live_from)
          limit case when a.first_live < a.today then null else 0 end
        ) h
        left join (
          select distinct on (b.id) b.account_id, b.id, b.valid_from as first_from
          from safety.followup_states b
          where b.account_id = a.account_id
          order by b.id, b.valid_from
          limit case when a.first_live < a.today then null else 0 end
        ) f on f.account_id = h.account_id and f.id = h.id
        group by 1, 2, 3, 4, 5, 6
      ) t cross join lateral (values
        (t.from_day, 1, 0, 0),
        (greatest(t.from_day, least(t.due_on + 1, t.closed_on, t.to_day)), -1, 1, 0),
        (greatest(t.from_day, least(t.closed_on, t.to_day)), 0, -1, 1),
        (t.to_day, 0, 0, -1)
      ) as step (day, open, overdue, closed)
      where step.day < a.today
      group by t.id, step.day
    ) d
    window w as (partition by a.account_id, d.id order by d.day)
  ) s
  join safety.calendar dates on dates.date between s.day and coalesce(s.next_day, s.today) - 1
  cross join lateral (values
    ('open', s.open), ('overdue', s.overdue), ('closed', s.closed), ('unknown', s.unknown)
  ) as counted (status, followups)
  where counted.followups > 0
  union all
  select t.account_id, t.today, t.status, t.followups::int, t.id::text, 0
  from (
    select b.account_id, b.id, max(b.today) as today, unnest(array['open', 'overdue', 'closed', 'unknown']) as status,
      unnest(array[count(*) filter (where b.status = 'open'), count(*) filter (where b.status = 'overdue'),
        count(*) filter (where b.status = 'closed'), count(*) filter (where b.status = 'unknown')]) as followups
    from (
      select c.account_id, c.form_id as id, coalesce(z.today, (now() at time zone 'UTC')::date) as today,
        case when c._deleted_at is not null then null when c.is_open is null then 'unknown' when not c.is_open then 'closed'
          when c.due_on < coalesce(z.today, (now() at time zone 'UTC')::date) then 'overdue' else 'open' end as status
      from safety.followups c
      left join safety.reporting_clock z on z.account_id = c.account_id
    ) b
    group by b.account_id, b.id
  ) t
  where t.followups > 0
) k
left join safety.labels form on form.account_id = k.account_id and form.kind = 'form' and form.id = k.id;
