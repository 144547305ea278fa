/** Confines a role to accounts, or revokes its access. */
import { sql } from 'drizzle-orm';
import { retrying } from '../shared/backoff.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { capital, nameSome } from '../shared/format.ts';
import {
  accessCommand,
  type Confinement,
  readConfinements,
  readForeignPolicy,
  readMissingPolicies,
  readPoliciesToDrop,
  whyNotConfine,
} from './access.ts';
import { quoted, readMissingGrants, readUnsecuredViews, withdrawStatements } from './access-relations.ts';
import { readFaults } from './read-access.ts';
import type { Connection, TextQueries } from '../engine/database/connection.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { databaseCode, toDatabaseError } from '../engine/database/database-error.ts';

/** Lock timeout, because statements of other sessions wait behind a statement that waits for its lock. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_ATTEMPTS = { mostAttempts: 15, delays: { firstMs: 200, mostMs: 200 } };
const LISTED_NAMES = 10;
const LOCK_NOT_AVAILABLE = '55P03';

async function apply(connection: Connection, statements: readonly string[]): Promise<void> {
  const isLocked = (error: unknown) => databaseCode(error) === LOCK_NOT_AVAILABLE;
  const attempt = () =>
    connection.db.transaction(async (tx) => {
      await tx.execute(sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`));
      for (const statement of statements) await tx.execute(sql.raw(statement));
    });
  try {
    await retrying(attempt, { ...LOCK_ATTEMPTS, isFinal: (error) => !isLocked(error) });
  } catch (error) {
    if (!isLocked(error)) throw toDatabaseError(error);
    throw new SafetySyncError(
      'database_error',
      `no moment without other statements for: ${statements.join('; ')}`,
      {
        cause: error,
        advice:
          'Run the same command again when no long query or first load is under way: it goes on where it stopped.',
      },
    );
  }
}

/** Only the owner of the tables changes who reads what. */
async function assertOwner(connection: TextQueries, command: string): Promise<void> {
  const [owner] = await connection.query<{ name: string; is_own: boolean }>(
    `select c.relowner::regrole::text as name, pg_has_role(c.relowner, 'usage') as is_own
     from pg_class c where c.oid = 'safety_sync.reader_accounts'::regclass`,
  );
  if (owner?.is_own === true) return;
  throw new SafetySyncError(
    'database_permission',
    'only the owner of the tables of schema safety decides who may read which accounts',
    { advice: `As ${String(owner?.name)}: ${command}` },
  );
}

async function assertKnown(
  connection: TextQueries,
  wanted: readonly string[],
  configured: readonly string[],
) {
  const stored = await connection.query<{ account_id: string }>(
    'select account_id from safety.reporting_settings union select account_id from safety_sync.stream_state',
  );
  const known = [...new Set([...configured, ...stored.map((row) => row.account_id)])].toSorted();
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw usageError(`no account is named ${unknown.join(', ')}; there are: ${nameSome(known, LISTED_NAMES)}`);
}

async function assertFit(connection: TextQueries, role: string): Promise<void> {
  const [found] = await connection.query('select from pg_roles where rolname = $1', [role]);
  if (found === undefined) {
    throw usageError(
      `this server has no role ${role}`,
      `As a user who may create roles, in psql: create role ${quoted(role)} login password '…'; then try again.`,
    );
  }
  const faults = (await readFaults(connection, [role])).filter(({ member }) => member === role);
  if (faults.length === 0) return;
  throw usageError(
    `${role} cannot be confined: it ${faults.map(({ problem }) => problem).join('; it ')}`,
    [...faults.map(({ remedy }) => capital(remedy)), 'Then try again.'].join('\n'),
  );
}

const WRITE = `insert into safety_sync.reader_accounts (role, accounts) values (to_regrole(quote_ident($1)), $2::text[])
  on conflict (role) do update set accounts = excluded.accounts`;

const findConfinement = async (connection: TextQueries, role: string): Promise<Confinement | undefined> =>
  (await readConfinements(connection)).find((one) => one.role === role);

/** `configured`: accounts that may be named before they have rows. Returns what the role may read now. */
export async function grantAccess(
  connection: Connection,
  { role, accounts, configured }: Confinement & { readonly configured: readonly string[] },
): Promise<Confinement> {
  const reason = await whyNotConfine(connection);
  if (reason !== null) throw new SafetySyncError('access_unsupported', reason);
  await assertKnown(connection, accounts, configured);
  await assertFit(connection, role);
  const foreign = await readForeignPolicy(connection);
  if (foreign !== undefined) {
    throw new SafetySyncError('access_unsupported', `${foreign} has a policy that safety-sync did not make`, {
      advice: `Drop the policies of ${foreign} first.`,
    });
  }
  await assertOwner(connection, accessCommand('grant', { role, accounts }));
  const before = (await findConfinement(connection, role))?.accounts ?? [];
  const wanted = [...new Set([...before, ...accounts])].toSorted();
  await connection.query(WRITE, [role, toArrayLiteral(wanted)]);
  for (const { statement } of await readUnsecuredViews(connection)) await apply(connection, [statement]);
  // One transaction for each table, so that none waits for a lock while it holds another.
  for (const { statement } of await readMissingPolicies(connection)) await apply(connection, [statement]);
  // Last: until every table has its policy the role may read nothing.
  await apply(connection, await readMissingGrants(connection, role));
  return { role, accounts: wanted };
}

/** No accounts: all. Returns the remaining accounts; with none the role can no longer read schema safety. */
export async function revokeAccess(
  connection: Connection,
  { role, accounts }: Confinement,
): Promise<Confinement> {
  const before = await findConfinement(connection, role);
  if (before === undefined) {
    throw usageError(
      `${role} is not confined to accounts`,
      `What else it may read it was granted in PostgreSQL, e.g. by: grant safety_reader to ${quoted(role)};`,
    );
  }
  const unknown = accounts.filter((name) => !before.accounts.includes(name));
  if (unknown.length > 0)
    throw usageError(`${role} may not read ${unknown.join(', ')}; it may read ${before.accounts.join(', ')}`);
  await assertOwner(connection, accessCommand('revoke', { role, accounts }));
  const left = accounts.length === 0 ? [] : before.accounts.filter((name) => !accounts.includes(name));
  if (left.length > 0) {
    await connection.query(WRITE, [role, toArrayLiteral(left)]);
    return { role, accounts: left };
  }
  await withdraw(connection, role);
  await connection.query('delete from safety_sync.reader_accounts where role = to_regrole(quote_ident($1))', [
    role,
  ]);
  if ((await readConfinements(connection)).length === 0)
    for (const { statement } of await readPoliciesToDrop(connection)) await apply(connection, [statement]);
  return { role, accounts: left };
}

/** Lets confined roles read an account by its new name, too; `to` null: none of them reads it any more. */
export async function renameForReaders(
  connection: TextQueries,
  { from, to }: { readonly from: string; readonly to: string | null },
): Promise<void> {
  await connection.query(
    `update safety_sync.reader_accounts set accounts = ${to === null ? 'array_remove(accounts, $1)' : 'array_append(accounts, $2)'}
     where accounts @> array[$1::text]${to === null ? '' : ' and not accounts @> array[$2::text]'}`,
    to === null ? [from] : [from, to],
  );
}

/** Revokes the right to read; nothing is changed where the role also has it from another grant. */
async function withdraw(connection: Connection, role: string): Promise<void> {
  try {
    await connection.db.transaction(async (tx) => {
      for (const statement of withdrawStatements(role)) await tx.execute(sql.raw(statement));
      const rows = await tx.execute<{ name: string }>(
        sql`select u.rolname as name from pg_roles u where pg_has_role(${role}, u.oid, 'usage') and exists (
          select from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'p', 'v')
            and has_table_privilege(u.oid, c.oid, 'select'))`,
      );
      const others = rows.map(({ name }) => name).filter((name) => name !== role);
      if (rows.length === 0) return;
      const from = others.length === 0 ? ['public'] : others;
      throw usageError(
        `${role} reads schema safety as ${from.join(', ')} too: without its policies it would see every account`,
        others.length === 0
          ? 'As the owner, in psql: revoke select on all tables in schema safety from public; then try again.'
          : `As a user who may, in psql: ${others.map((other) => `revoke ${quoted(other)} from ${quoted(role)};`).join(' ')} then try again.`,
      );
    });
  } catch (error) {
    throw toDatabaseError(error);
  }
}
