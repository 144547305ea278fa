-- An aggregate instead of a grouped timezone: a view that relies on a primary key cannot be restored before the key is there.
create or replace view safety.reporting_clock as
select s.account_id, max(s.timezone) as timezone, (now() at time zone max(s.timezone))::date as today,
  max(s.followup_url) as followup_url, max(s.resource_url) as resource_url, max(s.equipment_url) as equipment_url,
  max(s.employee_url) as employee_url
from safety.reporting_settings s group by s.account_id;
