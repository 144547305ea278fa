-- The accounts that a role is confined to, for the policies; null: it is not confined. It runs with the rights of its owner,
-- because readers may not read the table, so the policy passes the role: in here, current_user is the owner.
create or replace function safety.accounts_of(reader name) returns text[] language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select case when count(*) > 0 then coalesce((
      select array_agg(account) from safety_sync.reader_accounts o, unnest(o.accounts) account
      where pg_has_role(reader, o.role, 'usage')), '{}') end
  from safety_sync.reader_accounts a where pg_has_role(reader, a.role, 'usage')
$$;
