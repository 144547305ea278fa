-- Readers have no rights in safety_sync: this view reads as its owner and confines its rows itself, as freshness does.
create or replace view safety.accounts as
select a.account_id, coalesce(s.service_name, a.account_id collate "default") as name, coalesce(z.timezone, 'UTC') as timezone,
  coalesce(z.today, (now() at time zone 'UTC')::date) as today, n.history_from
from (
  select account_id from safety_sync.stream_state
  union
  select account_id from safety_sync.sources
) a
left join safety_sync.sources s on s.account_id = a.account_id
left join safety.reporting_clock z on z.account_id = a.account_id
left join (select account_id, max(history_from) as history_from from safety.counted_days group by account_id) n on n.account_id = a.account_id
where not row_security_active('safety.reporting_settings')
  or a.account_id = any ((select safety.readable_accounts())::text[]);
