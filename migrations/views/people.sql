-- Runs note each id of a person in the transaction that stores the row, so none is missing before its name is read. A forgotten
-- person is not noted any more, but has a row in safety_sync.forgotten (the id is a pseudonym then, and nothing else has that
-- form); its pseudonym is noted when that ends.
-- Readers have no rights in safety_sync: this view reads as its owner and confines its rows itself, as freshness does.
create or replace view safety.people as
select p.account_id, p.user_id, coalesce(nullif(u.name, ''), p.user_id collate "default") as name, t.user_id is not null as is_trained_here,
  p.user_id ~ '^pseudonym:[0-9a-f]{32}$' as is_forgotten, p.account_id || '/' || p.user_id as user_key,
  coalesce(title.label, title_name.name, u.job_title_id collate "default") as job_title,
  coalesce(office.label, office_name.name, u.field_office_ids[1] collate "default") as field_office,
  coalesce(business.label, business_name.name, u.line_of_business_ids[1] collate "default") as line_of_business,
  p.account_id || '/' || nullif(u.supervisor_id, '') as supervisor_key, nullif(supervisor.name, '') as supervisor_name,
  p.account_id || '/' || nullif(u.manager_id, '') as manager_key, nullif(manager.name, '') as manager_name,
  -- A person known only from users.info is in no list.
  case when u._deleted_at is null and l.named_at is null and u.id not like 'pseudonym:%' then
    u.terminated_on is null or u.terminated_on > coalesce(z.today, (now() at time zone 'UTC')::date)
  end as is_active
from (
  select l.account_id, l.user_id from safety_sync.user_lookups l
  union
  select f.account_id, f.person from safety_sync.forgotten f
  union
  select k.account_id, k.id from safety.users k where k.id not like 'pseudonym:%'
) p
left join safety_sync.user_lookups l on l.account_id = p.account_id and l.user_id = p.user_id
left join safety.users u on u.account_id = p.account_id and u.id = p.user_id
left join safety.users supervisor on supervisor.account_id = u.account_id and supervisor.id = u.supervisor_id
left join safety.users manager on manager.account_id = u.account_id and manager.id = u.manager_id
left join safety.reporting_clock z on z.account_id = p.account_id
left join safety.training_employee_status t
  on t.account_id = p.account_id and t.user_id = p.user_id and t._deleted_at is null
left join safety.labels title on title.account_id = u.account_id and title.kind = 'job_title' and title.id = u.job_title_id
left join safety.names title_name on title_name.account_id = u.account_id and title_name._key = 'job_title:' || u.job_title_id
left join safety.labels office on office.account_id = u.account_id and office.kind = 'field_office' and office.id = u.field_office_ids[1]
left join safety.names office_name on office_name.account_id = u.account_id and office_name._key = 'field_office:' || u.field_office_ids[1]
left join safety.labels business on business.account_id = u.account_id and business.kind = 'line_of_business' and business.id = u.line_of_business_ids[1]
left join safety.names business_name on business_name.account_id = u.account_id and business_name._key = 'line_of_business:' || u.line_of_business_ids[1]
where not row_security_active('safety.reporting_settings')
  or p.account_id = any ((select safety.readable_accounts())::text[]);
