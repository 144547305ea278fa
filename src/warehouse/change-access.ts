/** Confines a role to accounts, or revokes its access. */
import { sql } from 'drizzle-orm';
import { retrying } from '../shared/backoff.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { capital, nameSome } from '../shared/format.ts';
import {
  accessCommand,
  type Confinement,
  confineStatements,
  confinementsIn,
  freeStatements,
  type PolicyTable,
  readPolicyTables,
  whyNotConfine,
} from './access.ts';
import { quoted, readMissingGrants, readUnsecuredViews, withdrawStatements } from './access-relations.ts';
import { readFaults } from './read-access.ts';
import type { Connection, TextQueries } from '../engine/database/connection.ts';
import { databaseCode, toDatabaseError } from '../engine/database/database-error.ts';

/** Lock timeout, because statements of other sessions wait behind a statement that waits for its lock. */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_ATTEMPTS = { mostAttempts: 15, delays: { firstMs: 200, mostMs: 200 } };
const LISTED_NAMES = 10;
const LOCK_NOT_AVAILABLE = '55P03';

/** The statements of one transaction. The transactions are separate, so none waits for a lock while it holds another. */
type Statements = readonly string[];

async function apply(connection: Connection, statements: Statements): Promise<void> {
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

/** Only the owner of a table changes its policies. `statements`: all statements to run. */
function assertOwner(tables: readonly PolicyTable[], command: string, statements: Statements): void {
  if (tables.every(({ isOwn }) => isOwn)) return;
  throw new SafetySyncError(
    'database_permission',
    'only the owner of the tables of schema safety decides who may read which accounts',
    {
      advice: `As the owner: ${command}\nor in psql:\n${statements.map((one) => `${one};`).join('\n')}`,
    },
  );
}

/** One transaction for each table with statements. */
const transactionsOf = (
  tables: readonly PolicyTable[],
  statementsOf: (table: PolicyTable) => Statements,
): readonly Statements[] => tables.map(statementsOf).filter((transaction) => transaction.length > 0);

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

interface AccessChange {
  readonly role: string;
  readonly accounts: readonly string[];
}

/** `configured`: accounts that may be named before they have rows. Returns what the role may read now. */
export async function grantAccess(
  connection: Connection,
  { role, accounts, configured }: AccessChange & { readonly configured: readonly string[] },
): Promise<Confinement> {
  const reason = await whyNotConfine(connection);
  if (reason !== null) throw new SafetySyncError('access_unsupported', reason);
  await assertKnown(connection, accounts, configured);
  await assertFit(connection, role);
  const tables = await readPolicyTables(connection);
  const foreign = tables.find(({ isEnabled, isOpen }) => isEnabled && !isOpen);
  if (foreign !== undefined) {
    throw new SafetySyncError(
      'access_unsupported',
      `${foreign.name} has row-level security already that safety-sync did not make`,
      {
        advice: `Take it away first: alter table ${foreign.name} disable row level security; and drop its policies.`,
      },
    );
  }
  const before = confinementsIn(tables).find((one) => one.role === role)?.accounts ?? [];
  const wanted = [...new Set([...before, ...accounts])].toSorted();
  const views = await readUnsecuredViews(connection);
  const transactions: Statements[] = [
    ...views.map(({ statement }) => [statement]),
    ...transactionsOf(tables, (table) => confineStatements(table, role, wanted)),
    // Last: until it is confined on all tables it sees nothing.
    await readMissingGrants(connection, role),
  ];
  assertOwner(tables, accessCommand('grant', { role, accounts }), transactions.flat());
  for (const transaction of transactions) await apply(connection, transaction);
  return { role, accounts: wanted, differing: [] };
}

/** No accounts: all. Returns the remaining accounts; with none the role can no longer read schema safety. */
export async function revokeAccess(
  connection: Connection,
  { role, accounts }: AccessChange,
): Promise<Confinement> {
  const tables = await readPolicyTables(connection);
  const before = confinementsIn(tables).find((one) => one.role === role);
  if (before === undefined) {
    throw usageError(
      `${role} is not confined to accounts`,
      `What else it may read it was granted in PostgreSQL, e.g. by: grant safety_reader to ${quoted(role)};`,
    );
  }
  const unknown = accounts.filter((name) => !before.accounts.includes(name));
  if (unknown.length > 0)
    throw usageError(`${role} may not read ${unknown.join(', ')}; it may read ${before.accounts.join(', ')}`);
  const left = accounts.length === 0 ? [] : before.accounts.filter((name) => !accounts.includes(name));
  const command = accessCommand('revoke', { role, accounts });
  const isAll = left.length === 0;
  const transactions = transactionsOf(tables, (table) =>
    isAll ? freeStatements(table, role) : confineStatements(table, role, left),
  );
  assertOwner(tables, command, [...(isAll ? withdrawStatements(role) : []), ...transactions.flat()]);
  if (isAll) await withdraw(connection, role);
  for (const transaction of transactions) await apply(connection, transaction);
  return { role, accounts: left, differing: [] };
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
