-- Rows of parts that the last successful run did not request: they stay, and no run brings them up to date. All parts
-- that one run has requested have one common time.
create or replace view safety.freshness as
select t.account_id, t.stream, t.last_success_at,
  floor(extract(epoch from now() - t.last_success_at))::bigint as age_seconds,
  l.status as last_status, l.finished_at as last_finished_at,
  case t.stream when 'followups' then t.watermark when 'training-employee-status' then t.calculated_at
    else t.last_success_at end as as_of,
  (t.last_success_at at time zone coalesce(z.timezone, 'UTC'))::date as last_success_on,
  (l.finished_at at time zone coalesce(z.timezone, 'UTC'))::date as last_finished_on,
  coalesce(u.live, 0) as unread_rows, u.parts as unread_types, u.since as unread_since,
  (u.since at time zone coalesce(z.timezone, 'UTC'))::date as unread_since_on, n.counted_to, n.history_from, t.complete_until
from safety_sync.stream_state t
left join safety.counted_days n on n.account_id = t.account_id and n.stream = t.stream
left join safety.reporting_clock z on z.account_id = t.account_id
left join lateral (
  select r.status, r.finished_at from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream
    and (r.status = 'failed' or r.status = 'succeeded' and (r.requests > 0 or r.stream = 'users'))
  order by r.run_id desc limit 1
) l on true
left join lateral (
  select true as is_running from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.status = 'running' limit 1
) o on true
left join lateral (
  select sum(p.live)::bigint as live, string_agg(p.part, ', ' order by p.part) as parts,
    min((t.read_parts ->> p.part)::timestamptz) as since
  from (
    select coalesce(a.asked_type_id, e.equipment_type_id) as part, count(*) as live
    from safety.equipment e
    left join safety.equipment_asked_types a on a.account_id = e.account_id and a.equipment_id = e.id
    where t.stream = 'equipments' and e.account_id = t.account_id and e._deleted_at is null
    group by 1
  ) p
  where coalesce(t.read_parts ->> p.part, '') <> (select max(m.value) from jsonb_each_text(t.read_parts) m)
) u on true
where (t.last_success_at is not null or t.backfill_started_at is not null or l.status is not null or o.is_running)
  and (not row_security_active('safety.reporting_settings')
    or t.account_id = any ((select safety.readable_accounts())::text[]));
