/**
 * Roles that are confined to accounts: what differs from their grants, whether policies apply to them, and which rights would
 * let them see more.
 */
import type { Connection, TextQueries } from '../engine/database/connection.ts';
import { readServerNumber } from '../engine/database/session-settings.ts';
import { nameSome } from '../shared/format.ts';
import {
  accessCommand,
  type Confinement,
  readConfinements,
  readMissingPolicies,
  whyNotConfine,
} from './access.ts';
import { IS_SAFE, quoted, readMissingGrants, readUnsecuredViews } from './access-relations.ts';
import { READER_ROLE } from './reader-role.ts';

const SERVER_WITH_SET_OPTION = 160000;

/** The relations that a sentence names. */
const NAMED_RELATIONS = 3;

/** A right by which a role sees more than its accounts. */
interface PolicyFault {
  /** Confined to accounts, or to be confined. */
  readonly role: string;
  /** The role itself, or one that inherits from it. */
  readonly member: string;
  /** The right or membership of `member` that shows more. */
  readonly problem: string;
  readonly remedy: string;
}

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

/** Relations without policies that these roles, or roles that inherit from them, may read. */
async function readOverreach(connection: TextQueries, roles: readonly string[]): Promise<PolicyFault[]> {
  const rows = await connection.query<{ role: string; member: string; relations: string }>(
    `select r.rolname as role, m.rolname as member, json_agg(n.name order by n.name)::text as relations
     from pg_roles r
     join pg_roles m on not m.rolsuper and pg_has_role(m.oid, r.oid, 'usage')
     join pg_class c on c.relnamespace in ('safety'::regnamespace, 'safety_sync'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'f')
     cross join lateral (select format('%s.%I', c.relnamespace::regnamespace, c.relname) as name) n
     where r.rolname in (select json_array_elements_text($1::text::json))
       and has_schema_privilege(m.oid, c.relnamespace, 'usage') and has_table_privilege(m.oid, c.oid, 'select')
       and not (c.relnamespace = 'safety'::regnamespace and ${IS_SAFE})
     group by 1, 2 order by 1, 2`,
    [JSON.stringify(roles)],
  );
  return rows.map(({ role, member, relations }) => {
    const names = JSON.parse(relations) as string[];
    return {
      role,
      member,
      problem: `may read ${nameSome(names, NAMED_RELATIONS)}, which no policy confines`,
      remedy: `in psql: revoke select on ${names.join(', ')} from ${quoted(member)}; (or from the role through which it has the right)`,
    };
  });
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

export type ReaderAccess = Awaited<ReturnType<typeof readAccess>>;

/** A sentence each, with the next step. */
async function readProblems(connection: Connection, confined: readonly Confinement[]): Promise<string[]> {
  const roles = confined.map(({ role }) => role);
  const unsecured = await readUnsecuredViews(connection);
  const faults = await readFaults(connection, roles);
  const open = [...new Set((await readMissingPolicies(connection)).map(({ table }) => table))];
  const shutOut: string[] = [];
  for (const role of roles) if ((await readMissingGrants(connection, role)).length > 0) shutOut.push(role);
  return [
    ...(open.length === 0
      ? []
      : [
          `${nameSome(open, NAMED_RELATIONS)} ${open.length === 1 ? 'lacks its' : 'lack their'} policy; as the owner: safety-sync migrate`,
        ]),
    ...confined
      .filter(({ role }) => shutOut.includes(role))
      .map(
        (one) =>
          `${one.role} may not read all of schema safety; as the owner: ${accessCommand('grant', one)}`,
      ),
    ...(unsecured.length === 0
      ? []
      : [
          `${unsecured.map(({ name }) => name).join(', ')} show every account; as the owner: safety-sync migrate`,
        ]),
    ...faults.map(({ role, member, problem, remedy }) => {
      const name = member === role ? member : `${member}, a member of ${role},`;
      return `${name} ${problem}; ${remedy}`;
    }),
  ];
}

export async function readAccess(connection: Connection) {
  const confined = await readConfinements(connection);
  /** Why no role can be confined here; null: roles can. */
  const unsupported = await whyNotConfine(connection);
  const problems = confined.length === 0 ? [] : await readProblems(connection, confined);
  return { unsupported, confined, problems };
}
