create or replace function safety.reporting_timezone() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select case when count(distinct s.timezone) = 1 then min(s.timezone) else 'UTC' end from safety.reporting_settings s
$$;
create or replace function safety.reporting_timezone(account text) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce((select s.timezone from safety.reporting_settings s where s.account_id = account), 'UTC')
$$;
