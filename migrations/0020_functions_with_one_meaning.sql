-- A string body gets its meaning when the function runs, by the search_path of whoever asks: a reader that owns a schema could
-- put an operator = or an aggregate of its own in front, and safety.freshness trusts what readable_accounts() returns.
-- What reads a table keeps its string body and gets a fixed search_path, because Citus takes a body that refers to a table to
-- the nodes only after that table. reporting_today is compared with each row of the report: a body that was parsed when it was
-- made is inlined, which a function with settings of its own never is.
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
