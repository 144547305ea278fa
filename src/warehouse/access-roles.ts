/**
 * Checks roles that are confined to accounts: whether policies apply to them, and which rights would let them
 * see more.
 */
import { type Asked } from '../engine/database/connection.ts';
import { readServerNumber } from '../engine/database/session-settings.ts';
import { READER_ROLE } from './reader-role.ts';

const SERVER_WITH_SET_OPTION = 160000;

/** A role that policies do not restrict, or that could remove them. */
export interface Unfit {
  readonly role: string;
  /** The role itself, or one that inherits from it. */
  readonly member: string;
  readonly reason: string;
}

export async function readUnfit(connection: Asked, roles: readonly string[]): Promise<readonly Unfit[]> {
  const rows = await connection.query<{ role: string; member: string; reason: string | null }>(
    `select r.rolname as role, m.rolname as member, case
         when m.rolsuper then 'is a superuser'
         when m.rolbypassrls then 'has bypassrls'
         when m.rolcreaterole then 'may create roles, and so make itself a member of others'
         when m.oid = r.oid and pg_has_role(m.oid, f.relowner, 'member') then 'is, or can become, the owner of the tables'
         when m.oid = r.oid and m.rolname = $2 then 'is the role of those who see every account' end as reason
     from pg_roles r
     join pg_roles m on m.oid = r.oid or not m.rolsuper and pg_has_role(m.oid, r.oid, 'usage')
     join pg_class f on f.oid = 'safety.followups'::regclass
     where r.rolname in (select json_array_elements_text($1::text::json))
     order by 1, 2`,
    [JSON.stringify(roles), READER_ROLE],
  );
  return rows.flatMap(({ role, member, reason }) => (reason === null ? [] : [{ role, member, reason }]));
}

export async function hasRole(connection: Asked, role: string): Promise<boolean> {
  return (await connection.query('select from pg_roles where rolname = $1', [role])).length > 0;
}

/**
 * A way around the confinement: `member`, which is confined as `role` or as a member of it, can become `other`, and then
 * reads the rows of `other`.
 */
export interface WayOut {
  readonly role: string;
  readonly member: string;
  readonly other: string;
}

/** Checks these roles and all roles that inherit from them. */
export async function readWaysOut(connection: Asked, roles: readonly string[]): Promise<readonly WayOut[]> {
  const becomes = (await readServerNumber(connection)) >= SERVER_WITH_SET_OPTION ? 'set' : 'member';
  return await connection.query<WayOut>(
    `select r.rolname as role, m.rolname as member, u.rolname as other
     from pg_roles r
     join pg_roles m on not m.rolsuper and pg_has_role(m.oid, r.oid, 'usage')
     join pg_roles u on u.oid <> m.oid and pg_has_role(m.oid, u.oid, '${becomes}') and not pg_has_role(u.oid, r.oid, 'usage')
     where r.rolname in (select json_array_elements_text($1::text::json)) and (u.rolsuper or u.rolbypassrls
       or exists (select from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
         and has_table_privilege(u.oid, c.oid, 'select')))
     order by 1, 2, 3`,
    [JSON.stringify(roles)],
  );
}
