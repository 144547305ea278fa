/**
 * Reader roles that are confined to accounts, by row-level security. `safety_sync.reader_accounts` has the accounts of each
 * confined role. Every table with `account_id` has one policy, which asks `safety.accounts_of(current_user)` once in each
 * statement. No table has a policy before the first role is confined.
 */
import { customType, text } from 'drizzle-orm/pg-core';
import { controlSchema } from '../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import type { TextQueries } from '../engine/database/connection.ts';
import { READER_ROLE } from './reader-role.ts';

/** Keeps its role when the role is renamed, and when a dump is restored. */
const role = customType<{ data: string; driverData: string }>({ dataType: () => 'regrole' });

export const readerAccounts = controlSchema.table('reader_accounts', {
  role: role().primaryKey(),
  /** Empty: the role reads no account. */
  accounts: text().array().notNull(),
});

/** An expression for a table `c`. */
export const HAS_ACCOUNT = `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped)`;
const IS_OWNERS = `c.relowner = (select t.relowner from pg_class t where t.oid = 'safety.followups'::regclass)`;
/** The views that read the control tables, with the rights of their owner, and filter their rows themselves. */
const OWNERS_VIEWS = `('accounts', 'freshness', 'people')`;
/** True for another view `c` that reads a schema other than `safety`: readers have no rights there. */
const READS_ELSEWHERE = `c.relname not in ${OWNERS_VIEWS} and exists (select from pg_rewrite w
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    join pg_class r on r.oid = d.refobjid
    where w.ev_class = c.oid and r.relnamespace not in ('safety'::regnamespace, 'pg_catalog'::regnamespace))`;

/**
 * The relations `c` that a confined role may read: tables with policies, our views, and the calendar, which is equal for all
 * accounts. Everything else, such as a table created by hand or a materialized view, is not granted to it.
 */
const IS_SAFE = `c.relnamespace = 'safety'::regnamespace and (c.relkind in ('r', 'p') and ${HAS_ACCOUNT} or c.relname = 'calendar'
    or c.relkind = 'v' and ${IS_OWNERS} and not (${READS_ELSEWHERE}))`;

/** For a role that is not confined the condition is a constant. Writes are not restricted. */
const POLICY = `using ((select safety.accounts_of(current_user)) is null or account_id = any ((select safety.accounts_of(current_user))::text[]))
  with check (true)`;

/**
 * The statements that are missing in the confinement, in their order:
 * - Views get `security_invoker`, and the owner's views `security_barrier`, because a reader's condition would be evaluated on
 *   rows before they are filtered out, and could disclose them by an error.
 * - Tables have policies while a role is confined, and none otherwise. Row-level security is enabled last, so no reader loses
 *   access in between.
 * - The roles themselves get rights, because as a member of an unconfined role they could become that role (`set role`); at the
 *   end, because until every table has its policy a role may read nothing.
 */
const MISSING = `with confined as (
    select r.oid, r.rolname, a.accounts from safety_sync.reader_accounts a join pg_roles r on r.oid = a.role),
  t as (
    select c.oid::regclass::text as name, c.relrowsecurity as is_enabled,
      exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'accounts') as has_policy,
      exists (select from confined) as is_confined
    from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p') and ${HAS_ACCOUNT})
  select 1 as step, format('alter view safety.%I set (%s = true)', c.relname, o.option) as statement
  from pg_class c cross join lateral (
    select case when c.relname in ${OWNERS_VIEWS} then 'security_barrier' else 'security_invoker' end as option) o
  where c.relkind = 'v' and ${IS_SAFE} and not coalesce(c.reloptions @> array[o.option || '=true'], false)
  union all select 2, 'create policy accounts on ' || name || $$ ${POLICY} $$ from t where is_confined and not has_policy
  union all select 3, 'alter table ' || name || ' enable row level security' from t where is_confined and not is_enabled
  union all select 2, 'alter table ' || name || ' disable row level security' from t where not is_confined and is_enabled and has_policy
  union all select 3, 'drop policy accounts on ' || name from t where not is_confined and has_policy
  union all select 4, format('grant usage on schema safety to %I', r.rolname) from confined r, pg_namespace n
  where r.accounts <> '{}' and n.nspname = 'safety'
    and not exists (select from aclexplode(n.nspacl) g where g.grantee = r.oid and g.privilege_type = 'USAGE')
  union all select 5, format('grant select on %s to %I', string_agg(format('safety.%I', c.relname), ', ' order by c.relname), r.rolname)
  from pg_class c, confined r where r.accounts <> '{}' and c.relkind in ('r', 'p', 'v') and ${IS_SAFE}
    and not exists (select from aclexplode(c.relacl) g where g.grantee = r.oid and g.privilege_type = 'SELECT')
  group by r.rolname
  order by step, statement`;

const WHY_NOT_CONFINE = `select case
    when exists (select from pg_extension where extname = 'citus')
      then 'Citus does not keep row-level security on its nodes: what one account may not read, another that lies on the same node would show'
    when current_setting('server_version_num')::int < 150000
      then 'PostgreSQL 14 has no views that read with the rights of the caller: they would show every account (PostgreSQL 15 has them)'
  end as reason`;

/** Why roles cannot be confined here; null: they can. */
export async function whyNotConfine(connection: TextQueries): Promise<string | null> {
  const [found] = await connection.query<{ reason: string | null }>(WHY_NOT_CONFINE);
  return found?.reason ?? null;
}

/** A role and the accounts that it may read. */
export interface Confinement {
  readonly role: string;
  readonly accounts: readonly string[];
}

export const readConfinements = (connection: TextQueries) =>
  connection.query<Confinement>(
    `select r.rolname as role, (select coalesce(json_agg(x order by x collate "C"), '[]') from unnest(a.accounts) x) as accounts
     from safety_sync.reader_accounts a join pg_roles r on r.oid = a.role order by 1`,
  );

/** See `MISSING`. */
export const readMissing = async (connection: TextQueries): Promise<readonly string[]> =>
  (await connection.query<{ statement: string }>(MISSING)).map(({ statement }) => statement);

/**
 * Completes the confinement after migrations and changes of access, if this user owns the tables. Part of the migrating
 * transaction, because a view that a migration replaces has lost its setting. Takes no lock where nothing is missing.
 */
export async function completeAccess(connection: TextQueries): Promise<void> {
  const [owner] = await connection.query(
    `select from pg_class c where c.oid = 'safety.followups'::regclass and pg_has_role(c.relowner, 'usage')
       and current_setting('server_version_num')::int >= 150000`,
  );
  if (owner === undefined) return;
  for (const statement of await readMissing(connection)) await connection.query(statement);
}

/** Rights that show more than the granted accounts to these confined roles, or to roles that inherit from them. */
export const readFaults = (connection: TextQueries, roles: readonly string[]) =>
  connection.query<{ role: string; member: string; problem: string }>(
    `select * from (select r.rolname as role, m.rolname as member, case
         when m.rolsuper then 'is a superuser'
         when m.rolbypassrls then 'has bypassrls'
         when m.rolcreaterole then 'may create roles, and so make itself a member of others'
         when m.rolname = $2 then 'is the role of those who see every account'
         when has_schema_privilege(m.oid, 'safety_sync', 'usage') then 'may read schema safety_sync, which no policy confines'
         else coalesce((select 'can become ' || u.rolname || ', and see what that one sees' from pg_roles u
           where u.oid <> m.oid and pg_has_role(m.oid, u.oid, 'member') and not pg_has_role(u.oid, r.oid, 'usage')
             and has_table_privilege(u.oid, 'safety.followups', 'select') order by u.rolname limit 1),
           (select 'may read ' || string_agg('safety.' || c.relname, ', ' order by c.relname) || ', which no policy confines'
           from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
             and not (${IS_SAFE}) and has_table_privilege(m.oid, c.oid, 'select')))
         end as problem
       from pg_roles r join pg_roles m on m.oid = r.oid or not m.rolsuper and pg_has_role(m.oid, r.oid, 'usage')
       where r.rolname = any ($1::text[])) f
     where problem is not null order by 1, 2`,
    [toArrayLiteral(roles), READER_ROLE],
  );
