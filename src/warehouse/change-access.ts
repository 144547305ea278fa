/** Confines a role to accounts, revokes its access, and shows what is confined. */
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { nameSome } from '../shared/format.ts';
import { readStoredAccounts } from './change-account.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import type { Connection, TextQueries } from '../engine/database/connection.ts';
import { type Confinement, readConfinements, readFaults, readMissing, whyNotConfine } from './access.ts';
import type { Warehouse } from './open-warehouse.ts';

const LISTED_NAMES = 10;
/** The owner can repeat the command when no long statement is under way. */
const PATIENCE_MS = 30_000;

/** Only the owner of the tables may change access. */
async function assertOwner(connection: TextQueries): Promise<void> {
  const [owner] = await connection.query<{ name: string; is_own: boolean }>(
    `select c.relowner::regrole::text as name, pg_has_role(c.relowner, 'usage') as is_own
     from pg_class c where c.oid = 'safety_sync.reader_accounts'::regclass`,
  );
  if (owner?.is_own === true) return;
  throw new SafetySyncError(
    'database_permission',
    'only the owner of the tables of schema safety decides who may read which accounts',
    { advice: `Run the same command as ${String(owner?.name)}.` },
  );
}

async function assertFit(connection: TextQueries, role: string): Promise<void> {
  const [found] = await connection.query('select from pg_roles where rolname = $1', [role]);
  if (found === undefined) {
    throw usageError(
      `this server has no role ${role}`,
      `As a user who may create roles, in psql: create role "${role}" login password '…'; then try again.`,
    );
  }
  const [fault] = (await readFaults(connection, [role])).filter(({ member }) => member === role);
  if (fault === undefined) return;
  throw usageError(
    `${role} cannot be confined: it ${fault.problem}`,
    'Take that right away, or let the readers of an account have a role of their own; then try again.',
  );
}

const write = (connection: TextQueries, role: string, accounts: readonly string[]) =>
  connection.query(
    `insert into safety_sync.reader_accounts (role, accounts) values (to_regrole(quote_ident($1)), $2::text[])
     on conflict (role) do update set accounts = excluded.accounts`,
    [role, toArrayLiteral(accounts)],
  );

/** undefined: the role is not confined. */
const readAccountsOf = async (connection: TextQueries, role: string) =>
  (await readConfinements(connection)).find((one) => one.role === role)?.accounts;

/** `configured`: accounts that may be named before they have rows. Returns what the role may read now. */
export async function grantAccess(
  { connection, migrate }: Warehouse,
  { role, accounts, configured }: Confinement & { readonly configured: readonly string[] },
): Promise<readonly string[]> {
  const reason = await whyNotConfine(connection);
  if (reason !== null) throw new SafetySyncError('access_unsupported', reason);
  await assertOwner(connection);
  const known = [...new Set([...configured, ...(await readStoredAccounts(connection))])].toSorted();
  const unknown = accounts.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw usageError(
      `no account is named ${unknown.join(', ')}; there are: ${nameSome(known, LISTED_NAMES)}`,
    );
  await assertFit(connection, role);
  const before = (await readAccountsOf(connection, role)) ?? [];
  const now = [...new Set([...before, ...accounts])].toSorted();
  await write(connection, role, now);
  await migrate({ patienceMs: PATIENCE_MS });
  return now;
}

/**
 * No accounts: all. Returns the remaining accounts. With none the role can no longer read schema safety; it stays confined
 * where it may read it by another grant, because it would see every account.
 */
export async function revokeAccess(
  { connection, migrate }: Warehouse,
  { role, accounts }: Confinement,
): Promise<readonly string[]> {
  const before = await readAccountsOf(connection, role);
  if (before === undefined) throw usageError(`${role} is not confined to accounts`);
  const unknown = accounts.filter((name) => !before.includes(name));
  if (unknown.length > 0)
    throw usageError(`${role} may not read ${unknown.join(', ')}; it may read ${before.join(', ')}`);
  await assertOwner(connection);
  const left = accounts.length === 0 ? [] : before.filter((name) => !accounts.includes(name));
  await write(connection, role, left);
  if (left.length > 0) return left;
  const quoted = `"${role.replaceAll('"', '""')}"`;
  await connection.query(`revoke select on all tables in schema safety from ${quoted}`);
  await connection.query(`revoke usage on schema safety from ${quoted}`);
  await connection.query(
    `delete from safety_sync.reader_accounts
     where role = to_regrole(quote_ident($1)) and not has_table_privilege(role, 'safety.followups', 'select')`,
    [role],
  );
  await migrate({ patienceMs: PATIENCE_MS });
  return left;
}

/** The confined roles, and a sentence with the next step for each right that shows them more or less than their accounts. */
export async function readAccess(connection: Connection) {
  const confined = await readConfinements(connection);
  /** Why no role can be confined here; null: roles can. */
  const unsupported = await whyNotConfine(connection);
  if (confined.length === 0) return { unsupported, confined, problems: [] };
  const missing = await readMissing(connection);
  const faults = await readFaults(
    connection,
    confined.map(({ role }) => role),
  );
  const [first] = missing;
  const problems = [
    ...(first === undefined
      ? []
      : [`not in force: ${first.split(' using', 1).join('')}; as the owner: safety-sync migrate`]),
    ...faults.map(({ role, member, problem }) => {
      const name = member === role ? member : `${member}, a member of ${role},`;
      return `${name} ${problem}; take that right away`;
    }),
  ];
  return { unsupported, confined, problems };
}
