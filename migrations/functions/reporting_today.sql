create or replace function safety.reporting_today() returns date language sql stable
begin atomic
  select (pg_catalog.now() at time zone safety.reporting_timezone())::pg_catalog.date;
end;
create or replace function safety.reporting_today(account text) returns date language sql stable
begin atomic
  select (pg_catalog.now() at time zone safety.reporting_timezone(account))::pg_catalog.date;
end;
