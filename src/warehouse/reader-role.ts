/**
 * The role `safety_reader`: reads schema `safety`, nothing else. Roles belong to the server, not to the
 * database, so the migrating user may not be allowed to create one; this is not an error, only a message.
 */
import type { Connection } from '../engine/database/connection.ts';

export const READER_ROLE = 'safety_reader';

/** Advice for the operator if the role does not exist, or may not read all of the schema; null: nothing is missing. */
const READ_ADVICE = `select case
    when r.oid is null
      then 'For BI tools that shall read and not write (if there are none, leave it): as a user who may create roles: create role ${READER_ROLE} nologin; then run safety-sync migrate as the owner.'
    when not has_schema_privilege(r.oid, s.oid, 'usage') or exists (select from pg_class c where c.relnamespace = s.oid
        and c.relkind in ('r', 'p', 'v') and not has_table_privilege(r.oid, c.oid, 'select'))
      then 'For BI tools, which read as ${READER_ROLE}: run safety-sync migrate as the owner of schema safety.'
  end as advice
  from pg_namespace s left join pg_roles r on r.rolname = '${READER_ROLE}' where s.nspname = 'safety'`;

/**
 * Default privileges apply to objects that are created by the user that grants them: the owner, which
 * migrates.
 */
const GRANT = `do $$
begin
  if to_regrole('${READER_ROLE}') is null then
    begin
      create role ${READER_ROLE} nologin;
    -- Another database of this server may be migrated at the same moment.
    exception when insufficient_privilege or duplicate_object or unique_violation then null;
    end;
  end if;
  if to_regrole('${READER_ROLE}') is not null then
    begin
      grant usage on schema safety to ${READER_ROLE};
      grant select on all tables in schema safety to ${READER_ROLE};
      alter default privileges in schema safety grant select on tables to ${READER_ROLE};
    exception when insufficient_privilege then null;
    end;
  end if;
end $$`;

/** Creates the role and grants its missing rights, as far as this user may. Returns the advice for the operator, if something is missing. */
export async function grantReader(connection: Connection): Promise<string | null> {
  const readAdvice = async () =>
    (await connection.query<{ advice: string | null }>(READ_ADVICE))[0]?.advice ?? null;
  if ((await readAdvice()) === null) return null;
  await connection.query(GRANT);
  return await readAdvice();
}
