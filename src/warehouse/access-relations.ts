/**
 * The relations of schema safety that a confined role may read: those that are known to show only its
 * accounts. Everything else, such as a table created by hand or a materialized view, is not granted to it,
 * not even in advance.
 */
import type { TextQueries } from '../engine/database/connection.ts';

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** True for a view `c` that reads a schema other than `safety`: readers have no rights there. */
const READS_ELSEWHERE = `exists (select from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
    and d.refclassid = 'pg_class'::regclass join pg_class r on r.oid = d.refobjid
    where w.ev_class = c.oid and r.relnamespace not in ('safety'::regnamespace, 'pg_catalog'::regnamespace))`;
/** An expression for a table `c`. */
export const HAS_ACCOUNT = `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped)`;
const IS_OWNERS = `c.relowner = (select t.relowner from pg_class t where t.oid = 'safety.followups'::regclass)`;

/** The views that read another schema all the same, with the rights of their owner. */
const OWNERS_VIEWS = `('accounts', 'freshness', 'people')`;

/**
 * The relations `c` of schema safety that a confined role may read: tables with policies, and views with
 * `security_invoker`; also the calendar, which is equal for all accounts, and `accounts`, `freshness` and `people`, which
 * read the control tables as their owner and filter their rows themselves.
 */
export const IS_SAFE = `(c.relkind in ('r', 'p') and ${HAS_ACCOUNT} or c.relname = 'calendar' or c.relname in ${OWNERS_VIEWS}
    or c.relkind = 'v' and ${IS_OWNERS} and not ${READS_ELSEWHERE})`;

/**
 * The statements that grant the role the rights that it lacks. They are for the role itself, because as a member of an
 * unconfined role it could become that role (`set role`).
 */
export async function readMissingGrants(connection: TextQueries, role: string): Promise<readonly string[]> {
  const rows = await connection.query<{ statement: string }>(
    `select format('grant usage on schema safety to %I', r.rolname) as statement
     from pg_roles r, pg_namespace n where r.rolname = $1 and n.nspname = 'safety'
       and not exists (select from aclexplode(n.nspacl) g where g.grantee = r.oid and g.privilege_type = 'USAGE')
     union all
     select format('grant select on %s to %I', string_agg(format('safety.%I', c.relname), ', ' order by c.relname), r.rolname)
     from pg_class c, pg_roles r
     where r.rolname = $1 and c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v') and ${IS_SAFE}
       and not exists (select from aclexplode(c.relacl) g where g.grantee = r.oid and g.privilege_type = 'SELECT')
     group by r.rolname`,
    [role],
  );
  return rows.map(({ statement }) => statement);
}

export const withdrawStatements = (role: string): string[] => [
  `revoke select on all tables in schema safety from ${quoted(role)}`,
  `revoke usage on schema safety from ${quoted(role)}`,
];

/**
 * Views that show more than they should until the owner has run `statement`: those without `security_invoker`, and the
 * owner's views without `security_barrier`, because a reader's condition would be evaluated on rows before they are filtered
 * out, and could disclose them, for example by an error.
 */
export const readUnsecuredViews = (connection: TextQueries) =>
  connection.query<{ name: string; isOwn: boolean; statement: string }>(
    `select format('safety.%I', c.relname) as name, pg_has_role(c.relowner, 'usage') as "isOwn",
       format('alter view safety.%I set (%s = true)', c.relname, o.option) as statement
     from pg_class c cross join lateral (
       select case when c.relname in ${OWNERS_VIEWS} then 'security_barrier' else 'security_invoker' end as option) o
     where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v' and (c.relname in ${OWNERS_VIEWS} or not ${READS_ELSEWHERE})
       and not coalesce(c.reloptions @> array[o.option || '=true'], false)
     order by 1`,
  );
