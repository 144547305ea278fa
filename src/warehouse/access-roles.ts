/**
 * Checks roles that are confined to accounts: whether policies apply to them, and which rights would let them
 * see more.
 */
import { type TextQueries } from '../engine/database/connection.ts';
import { readServerNumber } from '../engine/database/session-settings.ts';
import { type PolicyFault, quoted, readOverreach } from './access-relations.ts';
import { READER_ROLE } from './reader-role.ts';

const SERVER_WITH_SET_OPTION = 160000;

/** Roles that policies do not restrict, or that could remove them. */
async function readUnfit(connection: TextQueries, roles: readonly string[]): Promise<PolicyFault[]> {
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
  const remedy = `take that right away, or let the readers of an account have a role of their own, in psql: create role NAME login password '…';`;
  return rows.flatMap(({ role, member, reason }) =>
    reason === null ? [] : [{ role, member, problem: `${reason}, and so sees every account`, remedy }],
  );
}

export async function hasRole(connection: TextQueries, role: string): Promise<boolean> {
  return (await connection.query('select from pg_roles where rolname = $1', [role])).length > 0;
}

/**
 * Ways around a confinement: a role that is confined as one of `roles`, or inherits from it, can become another role, and
 * then reads that role's rows.
 */
async function readWaysOut(connection: TextQueries, roles: readonly string[]): Promise<PolicyFault[]> {
  const becomes = (await readServerNumber(connection)) >= SERVER_WITH_SET_OPTION ? 'set' : 'member';
  const rows = await connection.query<{ role: string; member: string; other: string }>(
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
  return rows.map(({ role, member, other }) => ({
    role,
    member,
    problem: `can become ${other} (set role) and see what that one sees`,
    remedy: `in psql: revoke ${quoted(other)} from ${quoted(member)};`,
  }));
}

/** Reads the rights by which these roles, or roles that inherit from them, see more than the accounts of the policies. */
export const readFaults = async (
  connection: TextQueries,
  roles: readonly string[],
): Promise<PolicyFault[]> => [
  ...(await readUnfit(connection, roles)),
  ...(await readOverreach(connection, roles)),
  ...(await readWaysOut(connection, roles)),
];
