-- PostgreSQL resolves names in a string body when the function runs, by the search_path of the caller. A reader that owns a
-- schema could put an operator = or an aggregate of its own in front, and safety.freshness trusts readable_accounts().
-- Functions that read a table keep a string body and get a fixed search_path, because Citus creates a function with a parsed
-- body only locally while the table is not distributed yet. The report compares each row with reporting_today: its body is
-- parsed once and inlined, because PostgreSQL never inlines a function with a fixed search_path.
CREATE OR REPLACE FUNCTION safety.readable_accounts() RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(array_agg(s.account_id), '{}') FROM safety.reporting_settings s
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION safety.reporting_timezone(account text) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce((SELECT s.timezone FROM safety.reporting_settings s WHERE s.account_id = account), 'UTC')
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION safety.reporting_timezone() RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE WHEN count(DISTINCT s.timezone) = 1 THEN min(s.timezone) ELSE 'UTC' END FROM safety.reporting_settings s
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION safety.reporting_today(account text) RETURNS date LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT (pg_catalog.now() AT TIME ZONE safety.reporting_timezone(account))::pg_catalog.date;
END;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION safety.reporting_today() RETURNS date LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT (pg_catalog.now() AT TIME ZONE safety.reporting_timezone())::pg_catalog.date;
END;
