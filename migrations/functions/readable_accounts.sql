-- PostgreSQL resolves names in a string body when the function runs, by the search_path of the caller. A reader that owns a
-- schema could put an operator = or an aggregate of its own in front, and safety.freshness trusts readable_accounts().
-- Functions that read a table keep a string body and get a fixed search_path, because Citus creates a function with a parsed
-- body only locally while the table is not distributed yet. The report compares each row with reporting_today: its body is
-- parsed once and inlined, because PostgreSQL never inlines a function with a fixed search_path.
create or replace function safety.readable_accounts() returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(s.account_id), '{}') from safety.reporting_settings s
$$;
