/**
 * The role `safety_reader`: reads schema `safety`, nothing else. Roles belong to the server, not to the
 * database, so the migrating user may not be allowed to create one; this is not an error, only a message.
 */
import type { Connection } from '../engine/database/connection.ts';

export const READER_ROLE = 'safety_reader';

interface ReaderRole {
  readonly exists: boolean;
  /** It may not read all of the schema. */
  readonly isLacking: boolean;
}

const READ = `select not has_schema_privilege(r.oid, s.oid, 'usage') or exists (select from pg_class c where c.relnamespace = s.oid
    and c.relkind in ('r', 'p', 'v') and not has_table_privilege(r.oid, c.oid, 'select')) as lacks
  from pg_namespace s join pg_roles r on r.rolname = '${READER_ROLE}' where s.nspname = 'safety'`;

async function readReaderRole(connection: Connection): Promise<ReaderRole> {
  const [role] = await connection.query<{ lacks: boolean }>(READ);
  return { exists: role !== undefined, isLacking: role?.lacks === true };
}

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

/** Creates the role and grants its missing rights, as far as this user may. */
export async function grantReader(connection: Connection): Promise<ReaderRole> {
  const before = await readReaderRole(connection);
  if (before.exists && !before.isLacking) return before;
  await connection.query(GRANT);
  return await readReaderRole(connection);
}

/** The advice for the operator; null when nothing is missing. */
export function adviseOnReader({ exists, isLacking }: ReaderRole): string | null {
  if (!exists) {
    return `For BI tools that shall read and not write (if there are none, leave it): as a user who may create roles: create role ${READER_ROLE} nologin; then run safety-sync migrate as the owner.`;
  }
  return isLacking
    ? `For BI tools, which read as ${READER_ROLE}: run safety-sync migrate as the owner of schema safety.`
    : null;
}
