/**
 * Reader roles that are confined to accounts, by row-level security. Which accounts a role may read stands in the policies
 * themselves, as constants: a reader that is not confined pays nothing for those that are, and for one that is confined the
 * account is a condition that an index and the planner's statistics know. There is no list beside the policies that could
 * differ from them.
 *
 * Every table with `account_id` has a policy `public`, which shows everything to everybody, and for each confined role one
 * with the role's name, which is restrictive: it takes away. Nothing of it is there before the first role is confined.
 */
import { type Asked, readServerNumber } from './connection.ts';
import { READER_ROLE } from './reader-role.ts';

/** From this version on a view can read as whoever asks, and not as its owner. */
const OLDEST_SERVER = 150000;
const SERVER_WITH_SET_OPTION = 160000;

/** Why roles cannot be confined here; null: they can. */
export async function whyNotConfine(connection: Asked): Promise<string | null> {
  const [server] = await connection.query<{ number: number; version: string; has_citus: boolean }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
       exists (select from pg_extension where extname = 'citus') as has_citus`,
  );
  if (server?.has_citus === true) {
    return 'Citus does not keep row-level security on its nodes: what one account may not read, another that lies on the same node would show';
  }
  return (server?.number ?? 0) >= OLDEST_SERVER
    ? null
    : `PostgreSQL ${String(server?.version)} has no views that read as whoever asks: they would show every account (PostgreSQL 15 does)`;
}

/** A table with `account_id`, and what its policies say. */
export interface PolicyTable {
  readonly name: string;
  /** Whoever is connected may change its policies. */
  readonly isOwn: boolean;
  /** Its policies are in force. */
  readonly isEnabled: boolean;
  /** It has the policy for everybody. */
  readonly isOpen: boolean;
  /** By role. */
  readonly policies: ReadonlyMap<string, Policy>;
}

interface Policy {
  /** That of the role when it was confined. */
  readonly name: string;
  /** Those that the role may read. */
  readonly accounts: readonly string[];
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const TABLES = `select c.oid::text as oid, format('%I.%I', n.nspname, c.relname) as name, c.relrowsecurity as is_enabled, pg_has_role(c.relowner, 'usage') as is_own,
    exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polname = 'public') as is_open
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'safety' and c.relkind in ('r', 'p') and exists (select from pg_attribute a
    where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped)
  order by c.relname`;

const POLICIES = `select p.polrelid::text as oid, p.polname as name, r.rolname as role,
    (regexp_match(pg_get_expr(p.polqual, p.polrelid), $$account_id = ANY \\('(.*)'::text$$))[1] as accounts
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_roles r on r.oid = p.polroles[1]
  where n.nspname = 'safety' and not p.polpermissive and cardinality(p.polroles) = 1`;

/** Names of accounts hold nothing that PostgreSQL would quote within them. */
const NAME = /^[\w.@:-]{1,100}$/;
const namesIn = (literal: string | null): string[] =>
  (literal ?? '')
    .replace(/^\{(.*)\}$/, '$1')
    .split(',')
    .map((name) => name.replaceAll('"', ''));

export async function readPolicyTables(connection: Asked): Promise<PolicyTable[]> {
  const tables = await connection.query<{
    oid: string;
    name: string;
    is_own: boolean;
    is_enabled: boolean;
    is_open: boolean;
  }>(TABLES);
  const policies = await connection.query<{
    oid: string;
    name: string;
    role: string;
    accounts: string | null;
  }>(POLICIES);
  return tables.map(({ oid, name, is_own: isOwn, is_enabled: isEnabled, is_open: isOpen }) => {
    const ofTable = policies
      .filter((policy) => policy.oid === oid)
      .map((policy) => [policy.role, { name: policy.name, accounts: namesIn(policy.accounts) }] as const);
    return { name, isOwn, isEnabled, isOpen, policies: new Map(ofTable) };
  });
}

function toCondition(accounts: readonly string[]): string {
  const odd = accounts.find((name) => !NAME.test(name));
  if (odd !== undefined) throw new TypeError(`no name of an account: ${odd}`);
  return `account_id = any ('{${accounts.map((name) => `"${name}"`).join(',')}}'::text[])`;
}

const isSame = (one: readonly string[] | undefined, other: readonly string[]): boolean =>
  one?.toSorted().join() === other.toSorted().join();

/** What `table` lacks until `role` sees there `accounts` and no others. In force last: nobody is kept out meanwhile. */
export function confineStatements(table: PolicyTable, role: string, accounts: readonly string[]): string[] {
  const { name, isEnabled, isOpen } = table;
  const known = table.policies.get(role);
  const condition = toCondition(accounts);
  const own =
    known === undefined
      ? `create policy ${quoted(role)} on ${name} as restrictive to ${quoted(role)} using (${condition})`
      : `alter policy ${quoted(known.name)} on ${name} using (${condition})`;
  return [
    ...(isOpen ? [] : [`create policy "public" on ${name} using (true) with check (true)`]),
    ...(isSame(known?.accounts, accounts) ? [] : [own]),
    ...(isEnabled ? [] : [`alter table ${name} enable row level security`]),
  ];
}

/** The table is as before when nobody is confined there any more. */
export function freeStatements({ name, policies }: PolicyTable, role: string): string[] {
  const own = policies.get(role);
  if (own === undefined) return [];
  return [
    `drop policy ${quoted(own.name)} on ${name}`,
    ...(policies.size > 1
      ? []
      : [`alter table ${name} disable row level security`, `drop policy "public" on ${name}`]),
  ];
}

/** For the role itself, because as a member of one that sees everything it could become that one (`set role`). */
export const grantStatements = (role: string): string[] => [
  `grant usage on schema safety to ${quoted(role)}`,
  `grant select on all tables in schema safety to ${quoted(role)}`,
  `alter default privileges in schema safety grant select on tables to ${quoted(role)}`,
];

export const withdrawStatements = (role: string): string[] => [
  `alter default privileges in schema safety revoke select on tables from ${quoted(role)}`,
  `revoke select on all tables in schema safety from ${quoted(role)}`,
  `revoke usage on schema safety from ${quoted(role)}`,
];

/**
 * Views that do not read as whoever asks. One that reads another schema cannot, since readers have no rights there: it
 * confines its rows itself, as safety.freshness does.
 */
const UNSECURED_VIEWS = `select format('%I.%I', n.nspname, v.relname) as name, pg_has_role(v.relowner, 'usage') as is_own
  from pg_class v join pg_namespace n on n.oid = v.relnamespace
  where n.nspname = 'safety' and v.relkind = 'v'
    and not coalesce(v.reloptions @> array['security_invoker=true'], false)
    and not exists (select from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
      and d.refclassid = 'pg_class'::regclass join pg_class r on r.oid = d.refobjid
      where w.ev_class = v.oid and r.relnamespace not in (n.oid, 'pg_catalog'::regnamespace))
  order by 1`;

export async function readUnsecuredViews(
  connection: Asked,
): Promise<readonly { readonly name: string; readonly is_own: boolean }[]> {
  return await connection.query(UNSECURED_VIEWS);
}

export const secureStatement = (view: string): string => `alter view ${view} set (security_invoker = true)`;

/** What a confined role may read, as far as all tables agree. */
export interface Confinement {
  readonly role: string;
  readonly accounts: readonly string[];
  /** Tables on which it is confined otherwise, or not at all: a grant that was interrupted, or a table that is new. */
  readonly differing: readonly string[];
}

export function confinementsIn(tables: readonly PolicyTable[]): Confinement[] {
  const roles = [...new Set(tables.flatMap(({ policies }) => [...policies.keys()]))].toSorted();
  return roles.map((role) => {
    const lists = tables.flatMap(({ policies }) => {
      const own = policies.get(role);
      return own === undefined ? [] : [own.accounts];
    });
    const [first = [], ...others] = lists;
    const accounts = first.filter((name) => others.every((list) => list.includes(name))).toSorted();
    const differing = tables.filter(
      (table) => !table.isEnabled || !isSame(table.policies.get(role)?.accounts, accounts),
    );
    return { role, accounts, differing: differing.map(({ name }) => name) };
  });
}

/**
 * Whatever migrations have brought: no view shows what the tables below it would not, and who is confined is so in new
 * tables. Part of the transaction that migrates, because a view that a migration replaces has lost the setting. Takes no
 * lock where nothing is missing.
 */
export async function completeAccess(connection: Asked): Promise<void> {
  if ((await readServerNumber(connection)) < OLDEST_SERVER) return;
  const views = await readUnsecuredViews(connection);
  const statements = views.filter((view) => view.is_own).map(({ name }) => secureStatement(name));
  const tables = await readPolicyTables(connection);
  for (const { role, accounts } of confinementsIn(tables)) {
    if (accounts.length === 0) continue;
    for (const table of tables) {
      if (table.isOwn && !table.policies.has(role))
        statements.push(...confineStatements(table, role, accounts));
    }
  }
  for (const statement of new Set(statements)) await connection.query(statement);
}

/** Why policies would not hold for the role, or it could rid itself of them; null: they hold; undefined: no such role. */
export async function readUnfitness(connection: Asked, role: string): Promise<string | null | undefined> {
  const [row] = await connection.query<{
    rolsuper: boolean;
    rolbypassrls: boolean;
    rolcreaterole: boolean;
    owns: boolean;
  }>(
    `select r.rolsuper, r.rolbypassrls, r.rolcreaterole, pg_has_role(r.oid, f.relowner, 'member') as owns
     from pg_roles r, pg_class f where r.rolname = $1 and f.oid = 'safety.followups'::regclass`,
    [role],
  );
  if (row === undefined) return undefined;
  const reasons = [
    ...(row.rolsuper ? ['is a superuser'] : []),
    ...(row.rolbypassrls ? ['has bypassrls'] : []),
    ...(row.rolcreaterole ? ['may create roles, and so make itself a member of others'] : []),
    ...(row.owns ? ['is, or can become, the owner of the tables'] : []),
    ...(role === READER_ROLE ? ['is the role of those who see every account'] : []),
  ];
  return reasons[0] ?? null;
}

/** A way out: `member`, which is confined as `role` or as a member of it, can become `other` and sees what that one sees. */
export interface WayOut {
  readonly role: string;
  readonly member: string;
  readonly other: string;
}

/** Of these roles and of all that inherit from them. */
export async function readWaysOut(connection: Asked, roles: readonly string[]): Promise<readonly WayOut[]> {
  const becomes = (await readServerNumber(connection)) >= SERVER_WITH_SET_OPTION ? 'set' : 'member';
  return await connection.query<WayOut>(
    `select r.rolname as role, m.rolname as member, u.rolname as other
     from pg_roles r
     join pg_roles m on not m.rolsuper and pg_has_role(m.oid, r.oid, 'usage')
     join pg_roles u on u.oid <> m.oid and pg_has_role(m.oid, u.oid, '${becomes}') and not pg_has_role(u.oid, r.oid, 'usage')
     where r.rolname in (select json_array_elements_text($1::text::json)) and (u.rolsuper or u.rolbypassrls
       or exists (select from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v')
         and has_table_privilege(u.oid, c.oid, 'select')))
     order by 1, 2, 3`,
    [JSON.stringify(roles)],
  );
}

/** Of these roles, which may not read all of schema safety, to be confined there: after a restore, for instance. */
export async function readShutOut(connection: Asked, roles: readonly string[]): Promise<string[]> {
  const rows = await connection.query<{ role: string }>(
    `select r.rolname as role from pg_roles r where r.rolname in (select json_array_elements_text($1::text::json))
       and (not has_schema_privilege(r.oid, 'safety', 'usage') or exists (select from pg_class c
         where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v')
           and not has_table_privilege(r.oid, c.oid, 'select'))) order by 1`,
    [JSON.stringify(roles)],
  );
  return rows.map(({ role }) => role);
}
