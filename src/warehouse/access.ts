/**
 * Reader roles that are confined to accounts, by row-level security. The accounts of a role are constants in
 * the policies: unconfined readers have no overhead, and for a confined reader the account is a condition
 * that an index and the planner's statistics can use. There is no separate list that could differ from the
 * policies.
 *
 * Every table with `account_id` has a policy `public`, which shows all rows to all roles, and for each
 * confined role a restrictive policy with the role's name. No policy exists before the first role is
 * confined.
 */
import { HAS_ACCOUNT, quoted, readMissingGrants, readUnsecuredViews } from './access-relations.ts';
import { type TextQueries } from '../engine/database/connection.ts';
import { readServerNumber } from '../engine/database/session-settings.ts';

/** From this version on PostgreSQL supports `security_invoker` for views. */
const OLDEST_SERVER_WITH_POLICIES = 150000;

/** Why roles cannot be confined here; null: they can. */
export async function whyNotConfine(connection: TextQueries): Promise<string | null> {
  const [server] = await connection.query<{ number: number; version: string; has_citus: boolean }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
       exists (select from pg_extension where extname = 'citus') as has_citus`,
  );
  if (server?.has_citus === true) {
    return 'Citus does not keep row-level security on its nodes: what one account may not read, another that lies on the same node would show';
  }
  return (server?.number ?? 0) >= OLDEST_SERVER_WITH_POLICIES
    ? null
    : `PostgreSQL ${String(server?.version)} has no views that read with the rights of the caller: they would show every account (PostgreSQL 15 has them)`;
}

/** A table with `account_id`, and the content of its policies. */
export interface PolicyTable {
  readonly name: string;
  /** The connected role may change its policies. */
  readonly isOwn: boolean;
  /** Row-level security is enabled. */
  readonly isEnabled: boolean;
  /** It has the policy `public`. */
  readonly isOpen: boolean;
  readonly policies: ReadonlyMap<string, RowPolicy>;
}

interface RowPolicy {
  /** The role's name when it was confined. */
  readonly name: string;
  /** Those that the role may read. */
  readonly accounts: readonly string[];
}

const TABLES_SQL = `select format('%I.%I', n.nspname, c.relname) as name, c.relrowsecurity as "isEnabled", pg_has_role(c.relowner, 'usage') as "isOwn",
    exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polname = 'public') as "isOpen",
    (select coalesce(json_object_agg(r.rolname, json_build_object('name', p.polname, 'accounts', coalesce(
        (regexp_match(pg_get_expr(p.polqual, p.polrelid), $$account_id = ANY \\('(.*)'::text$$))[1]::text[], '{""}'))), '{}')::text
      from pg_policy p join pg_roles r on r.oid = p.polroles[1]
      where p.polrelid = c.oid and not p.polpermissive and cardinality(p.polroles) = 1) as policies
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'safety' and c.relkind in ('r', 'p') and ${HAS_ACCOUNT}
  order by c.relname`;

export async function readPolicyTables(connection: TextQueries): Promise<PolicyTable[]> {
  const tables = await connection.query<Omit<PolicyTable, 'policies'> & { policies: string }>(TABLES_SQL);
  return tables.map(({ policies, ...table }) => {
    const byRole = JSON.parse(policies) as Record<string, RowPolicy>;
    return { ...table, policies: new Map(Object.entries(byRole)) };
  });
}

/** Names of accounts contain no character that PostgreSQL escapes in them. */
const ROLE_NAME = /^[\w.@:-]{1,100}$/;

function toCondition(accounts: readonly string[]): string {
  const odd = accounts.find((name) => !ROLE_NAME.test(name));
  if (odd !== undefined) throw new TypeError(`no name of an account: ${odd}`);
  return `account_id = any ('{${accounts.map((name) => `"${name}"`).join(',')}}'::text[])`;
}

const isSame = (one: readonly string[] | undefined, other: readonly string[]): boolean =>
  one?.toSorted().join() === other.toSorted().join();

/**
 * The missing statements by which `role` sees only `accounts` in `table`. Row-level security is enabled last, so no reader
 * loses access in between.
 */
export function confineStatements(table: PolicyTable, role: string, accounts: readonly string[]): string[] {
  const { name, isEnabled, isOpen } = table;
  const known = table.policies.get(role);
  const condition = toCondition(accounts);
  // The policies of a renamed role keep its old name, so another role may find its own name taken.
  let policy = role;
  while ([...table.policies.values()].some((one) => one.name === policy)) policy += ' again';
  const own =
    known === undefined
      ? `create policy ${quoted(policy)} on ${name} as restrictive to ${quoted(role)} using (${condition})`
      : `alter policy ${quoted(known.name)} on ${name} using (${condition})`;
  return [
    ...(isOpen ? [] : [`create policy "public" on ${name} using (true) with check (true)`]),
    ...(isSame(known?.accounts, accounts) ? [] : [own]),
    ...(isEnabled ? [] : [`alter table ${name} enable row level security`]),
  ];
}

/** The table has no policies again when no role is confined there any more. */
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

/** The accounts of a confined role: those that all of its policies contain. */
export interface Confinement {
  readonly role: string;
  readonly accounts: readonly string[];
  /** Tables with another confinement, or none: after an interrupted grant, or because the table is new. */
  readonly differing: readonly string[];
}

export const accessCommand = (
  verb: 'grant' | 'revoke',
  { role, accounts }: Pick<Confinement, 'role' | 'accounts'>,
): string => `safety-sync access ${verb} ${role}${accounts.map((name) => ` --account ${name}`).join('')}`;

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
 * Completes the confinement after migrations: sets `security_invoker` on views, adds the policies to new
 * tables, and only then grants the new relations. Part of the migrating transaction, because a view that a
 * migration replaces has lost the setting. Takes no lock where nothing is missing.
 */
export async function completeAccess(connection: TextQueries): Promise<void> {
  if ((await readServerNumber(connection)) < OLDEST_SERVER_WITH_POLICIES) return;
  const views = await readUnsecuredViews(connection);
  const statements = views.filter((view) => view.isOwn).map(({ statement }) => statement);
  const tables = await readPolicyTables(connection);
  for (const { role, accounts } of confinementsIn(tables)) {
    if (accounts.length === 0) continue;
    for (const table of tables) {
      if (table.isOwn && !table.policies.has(role))
        statements.push(...confineStatements(table, role, accounts));
    }
    if (tables.every(({ isOwn }) => isOwn)) statements.push(...(await readMissingGrants(connection, role)));
  }
  for (const statement of new Set(statements)) await connection.query(statement);
}
