-- The facts about each stream of each account, as operate/status/read-accounts.ts names them; times in ms since 1970.
-- operate/status/problems.ts derives the problems from them.
drop view if exists safety_sync.status;
create view safety_sync.status as
select coalesce(t.account_id, b.account_id) as account_id, t.stream, o.backend_pid as open_pid,
  array(select m.method from safety_sync.optional_methods m
    where m.account_id = t.account_id and m.code in ('api_method_not_found', 'token_permission', 'parameter_unexpected')
    order by m.method) as not_offered,
  case when b.blocked_until > clock_timestamp() then b.blocked_until end as blocked_until,
  json_build_object(
    'isRunning', o.run_id is not null,
    'lastSuccessMs', floor(extract(epoch from t.last_success_at) * 1000),
    'watermarkMs', floor(extract(epoch from t.watermark) * 1000),
    'calculatedMs', floor(extract(epoch from t.calculated_at) * 1000),
    -- Until then the service responds with the same training list.
    'currentUntilMs', floor(extract(epoch from t.checked_at + t.fresh_for_ms * interval '1 millisecond') * 1000),
    'failingWith', case d.status when 'failed' then coalesce(d.error_code, 'internal_error') end,
    'failingSinceMs', case d.status when 'failed' then floor(extract(epoch from e.began_at) * 1000) end,
    'failedAtMs', case d.status when 'failed' then floor(extract(epoch from d.finished_at) * 1000) end,
    'failedMessage', case d.status when 'failed' then d.error_message || coalesce(' [request ' || d.request_id || ']', '') end,
    'failedReconcile', case c.status when 'failed' then coalesce(c.error_code, 'internal_error') end,
    'repaired', coalesce(p.repaired, 0),
    'openIssues', i.open_issues,
    'newFields', array(select distinct f.field from safety_sync.data_issues f
      where f.account_id = t.account_id and f.stream = t.stream and f.kind = 'unknown_field'
        and f.resolved_at is null and f.field is not null order by f.field limit 1000)) as facts
from safety_sync.stream_state t
-- After a refused first request an account has no state yet.
full join safety_sync.request_budget b on b.account_id = t.account_id
left join lateral (
  select r.run_id, r.backend_pid from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.status = 'running' order by r.run_id desc limit 1
) o on true
-- A tick that found the stream locked by another worker has no session, and decides nothing; nor does a run that was stopped,
-- or that died with its worker: the next one continues it.
left join lateral (
  select r.status, r.error_code, r.error_message, r.request_id, r.finished_at from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.status <> 'running'
    and not (r.status = 'skipped' and r.backend_pid is null)
    and coalesce(r.error_code, '') not in ('interrupted', 'worker_died')
  order by r.run_id desc limit 1
) d on true
left join lateral (
  select r.run_id from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.status = 'succeeded' and r.requests > 0
  order by r.run_id desc limit 1
) s on true
-- The first failure since the last success.
left join lateral (
  select r.started_at as began_at from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.status = 'failed' and r.run_id > coalesce(s.run_id, 0)
    and coalesce(r.error_code, '') not in ('interrupted', 'worker_died')
  order by r.run_id limit 1
) e on true
left join lateral (
  select r.status, r.error_code from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.kind = 'reconcile'
    and r.status in ('succeeded', 'failed') and coalesce(r.error_code, '') not in ('interrupted', 'worker_died')
  order by r.run_id desc limit 1
) c on true
left join lateral (
  select r.repaired from safety_sync.runs r
  where r.account_id = t.account_id and r.stream = t.stream and r.kind = 'reconcile' and r.repaired is not null
  order by r.run_id desc limit 1
) p on true
left join lateral (
  select count(*)::int as open_issues from safety_sync.data_issues s
  where s.account_id = t.account_id and s.stream = t.stream and s.resolved_at is null
) i on true;
