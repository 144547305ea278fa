/**
 * Reader roles that are confined to accounts, by row-level security. `safety_sync.reader_accounts` has the accounts of each
 * confined role. Every table with `account_id` has one policy, which asks `safety.accounts_of(current_user)` once in each
 * statement. No table has a policy before the first role is confined.
 */
import { customType, text } from 'drizzle-orm/pg-core';
import { HAS_ACCOUNT, readMissingGrants, readUnsecuredViews } from './access-relations.ts';
import { controlSchema } from '../engine/control-tables/control-tables.ts';
import type { TextQueries } from '../engine/database/connection.ts';
import { readServerNumber } from '../engine/database/session-settings.ts';

/** Keeps its role when the role is renamed, and when a dump is restored. */
const role = customType<{ data: string; driverData: string }>({ dataType: () => 'regrole' });

export const readerAccounts = controlSchema.table('reader_accounts', {
  role: role().primaryKey(),
  /** Empty: the role reads no account. */
  accounts: text().array().notNull(),
});

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

/** What a role may read. */
export interface Confinement {
  readonly role: string;
  readonly accounts: readonly string[];
}

export async function readConfinements(connection: TextQueries): Promise<Confinement[]> {
  const rows = await connection.query<{ role: string; accounts: string }>(
    `select r.rolname as role, to_json(a.accounts)::text as accounts
     from safety_sync.reader_accounts a join pg_roles r on r.oid = a.role order by 1`,
  );
  return rows.map((row) => ({ role: row.role, accounts: (JSON.parse(row.accounts) as string[]).toSorted() }));
}

/** A statement that is missing in a table. */
interface MissingStatement {
  readonly table: string;
  readonly isOwn: boolean;
  readonly statement: string;
}

const TABLES = `select format('%I.%I', n.nspname, c.relname) as "table", pg_has_role(c.relowner, 'usage') as "isOwn",
    c.relrowsecurity as is_enabled, exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'accounts') as has_policy,
    exists (select from pg_policy p where p.polrelid = c.oid and p.polname <> 'accounts') as has_other
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'safety' and c.relkind in ('r', 'p') and ${HAS_ACCOUNT}
  order by c.relname`;

/** The condition is a constant where nobody is confined who asks. Rows are written as before. */
const POLICY = `using ((select safety.accounts_of(current_user)) is null or account_id = any ((select safety.accounts_of(current_user))::text[]))
  with check (true)`;

/** Row-level security is enabled last, so no reader loses access in between. */
const MISSING_POLICIES = `with t as (${TABLES})
  select "table", "isOwn", format('create policy accounts on %s ${POLICY.replaceAll("'", "''").replaceAll('%', '%%')}', "table") as statement, 1 as at
  from t where not has_policy
  union all select "table", "isOwn", format('alter table %s enable row level security', "table"), 2 from t where not is_enabled
  order by 1, 4`;

const POLICIES_TO_DROP = `with t as (${TABLES})
  select "table", "isOwn", format('alter table %s disable row level security', "table") as statement, 1 as at
  from t where is_enabled
  union all select "table", "isOwn", format('drop policy accounts on %s', "table"), 2 from t where has_policy
  order by 1, 4`;

export const readMissingPolicies = (connection: TextQueries) =>
  connection.query<MissingStatement>(MISSING_POLICIES);

export const readPoliciesToDrop = (connection: TextQueries) =>
  connection.query<MissingStatement>(POLICIES_TO_DROP);

/** A table with a policy that is not ours; undefined: there is none. */
export async function readForeignPolicy(connection: TextQueries): Promise<string | undefined> {
  const [foreign] = await connection.query<{ table: string }>(
    `select "table" from (${TABLES}) t where has_other limit 1`,
  );
  return foreign?.table;
}

export const accessCommand = (verb: 'grant' | 'revoke', { role: name, accounts }: Confinement): string =>
  `safety-sync access ${verb} ${name}${accounts.map((account) => ` --account ${account}`).join('')}`;

/**
 * Completes the confinement after migrations: sets `security_invoker` on views, adds the policy to new tables, and only then
 * grants the new relations. Part of the migrating transaction, because a view that a migration replaces has lost the setting.
 * Takes no lock where nothing is missing.
 */
export async function completeAccess(connection: TextQueries): Promise<void> {
  if ((await readServerNumber(connection)) < OLDEST_SERVER_WITH_POLICIES) return;
  const views = await readUnsecuredViews(connection);
  const statements = views.filter((view) => view.isOwn).map(({ statement }) => statement);
  const confined = await readConfinements(connection);
  if (confined.length > 0) {
    const policies = await readMissingPolicies(connection);
    statements.push(...policies.filter(({ isOwn }) => isOwn).map(({ statement }) => statement));
    if (policies.every(({ isOwn }) => isOwn))
      for (const one of confined) statements.push(...(await readMissingGrants(connection, one.role)));
  }
  for (const statement of new Set(statements)) await connection.query(statement);
}
