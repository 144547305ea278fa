-- An aggregate instead of a grouped timezone: a view that relies on a primary key cannot be restored before the key is there.
create or replace view safety.reporting_clock as
select s.account_id, max(s.timezone) as timezone, (now() at time zone max(s.timezone))::date as today
from safety.reporting_settings s group by s.account_id;
