-- Runs note each id of a person in the transaction that stores the row, so none is missing before its lookup. A forgotten person
-- has no lookup any more, but a row in safety_sync.forgotten; the id is a pseudonym then, and nothing else has that form.
-- Readers have no rights in safety_sync: this view reads as its owner and confines its rows itself, as freshness does.
create or replace view safety.people as
select p.account_id, p.user_id, coalesce(nullif(u.name, ''), p.user_id) as name, t.user_id is not null as is_trained_here,
  p.user_id ~ '^pseudonym:[0-9a-f]{32}$' as is_forgotten, p.account_id || '/' || p.user_id as user_key
from (
  select l.account_id, l.user_id from safety_sync.user_lookups l
  union
  select f.account_id, f.person from safety_sync.forgotten f
  union
  select k.account_id, k.id from safety.users k
) p
left join safety.users u on u.account_id = p.account_id and u.id = p.user_id
left join safety.training_employee_status t
  on t.account_id = p.account_id and t.user_id = p.user_id and t._deleted_at is null
where not row_security_active('safety.reporting_settings')
  or p.account_id = any ((select safety.readable_accounts())::text[]);
