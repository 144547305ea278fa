import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { SafetySyncError } from '../shared/errors.ts';
import { completeAccess, confinementsIn, readPolicyTables } from './access.ts';
import { extendCalendar } from './calendar.ts';
import { assertCitus, distribute, grantFreshness, readCitus } from './citus.ts';
import { writeComments } from './comments.ts';
import { type Asked, type Connection, NO_TIMEOUTS, openConnection } from './connection.ts';
import { toDatabaseError } from './database-error.ts';
import { grantReader, type ReaderRole } from './reader-role.ts';

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));
const MIGRATIONS = { schema: 'safety_sync', table: 'migrations' } as const;
/** Every process that migrates takes this lock first, so that two of them wait for each other. */
const MIGRATION_LOCK = "hashtextextended('safety-sync:migrate', 0)";
/** As PostgreSQL numbers itself: 14. */
export const OLDEST_SERVER = 140000;

export interface MigrationStatus {
  /** Migrations in this program. */
  readonly known: number;
  /** Migrations of this program that the warehouse has not seen. */
  readonly pending: number;
}

export interface MigrationOutcome {
  readonly applied: number;
  readonly known: number;
  readonly reader: ReaderRole;
  /** Tables that were distributed now. */
  readonly distributed: readonly string[];
}

export interface MigrateOptions {
  /** Spreads the warehouse over the nodes of a Citus cluster. One that is spread stays so without it. */
  readonly onCitus?: boolean;
  /** From then on statements that take long are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

async function knownMigrations(): Promise<number[]> {
  const journal = JSON.parse(await readFile(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: { when: number }[];
  };
  return journal.entries.map((entry) => entry.when);
}

/** What the warehouse still lacks. A warehouse that was never migrated lacks everything. */
export async function readMigrationStatus(connection: Asked): Promise<MigrationStatus> {
  const known = await knownMigrations();
  const [found] = await connection.query<{ present: boolean }>(
    `select to_regclass('${MIGRATIONS.schema}.${MIGRATIONS.table}') is not null as present`,
  );
  if (found?.present !== true) return { known: known.length, pending: known.length };
  const [last] = await connection.query<{ newest: string | null }>(
    `select max(created_at)::text as newest from ${MIGRATIONS.schema}.${MIGRATIONS.table}`,
  );
  const newest = Number(last?.newest ?? 0);
  return { known: known.length, pending: known.filter((when) => when > newest).length };
}

/** As drizzle's migrator keeps it. */
const CREATE_LEDGER = [
  `create schema if not exists ${MIGRATIONS.schema}`,
  `create table if not exists ${MIGRATIONS.schema}.${MIGRATIONS.table} (id serial primary key, hash text not null, created_at bigint)`,
];

/** All of them or none, and with them what readers may see of what they bring. */
async function applyMissing(connection: Connection, isDistributed: boolean): Promise<void> {
  const { known, pending } = await readMigrationStatus(connection);
  const missing = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).slice(known - pending);
  if (missing.length > 0) for (const statement of CREATE_LEDGER) await connection.query(statement);
  await connection.query('begin');
  // Statements over several tables that foreign keys tie together, in one transaction.
  if (isDistributed) await connection.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
  for (const { sql: statements, hash, folderMillis } of missing) {
    for (const statement of statements) {
      await connection.query(statement);
      // A new table has to be distributed before the next statement refers to it.
      if (isDistributed && /create table/i.test(statement)) await distribute(connection);
    }
    await connection.query(
      `insert into ${MIGRATIONS.schema}.${MIGRATIONS.table} (hash, created_at) values ($1, $2)`,
      [hash, folderMillis],
    );
  }
  await completeAccess(connection);
  await connection.query('commit');
}

/** What confines readers would be lost on the nodes. Error: `access_unsupported`. */
async function assertUnconfined(connection: Connection): Promise<void> {
  const [one] = confinementsIn(await readPolicyTables(connection));
  if (one === undefined) return;
  throw new SafetySyncError(
    'access_unsupported',
    `${one.role} is confined to accounts, and Citus does not keep row-level security on its nodes`,
    { advice: `First, on one PostgreSQL: safety-sync access revoke ${one.role}` },
  );
}

/** Applies what is missing; several processes may do so at once. Errors: `database_unreachable`, `database_too_old`, `database_error`. */
export async function migrateDatabase(
  url: string,
  { onCitus = false, signal }: MigrateOptions = {},
): Promise<MigrationOutcome> {
  const connection = openConnection({
    url,
    applicationName: 'safety-sync migrate',
    max: 1,
    isSession: true,
    signal,
  });
  try {
    const [server] = await connection.query<{ version: string }>(
      `select current_setting('server_version_num') as version, ${NO_TIMEOUTS} as freed`,
    );
    if (Number(server?.version ?? 0) < OLDEST_SERVER) {
      throw new SafetySyncError('database_too_old', `this PostgreSQL is version ${String(server?.version)}`);
    }
    if (onCitus) await assertCitus(connection);
    await connection.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    const before = await readMigrationStatus(connection);
    const isDistributed = (await readCitus(connection))?.isDistributed === true;
    await applyMissing(connection, isDistributed);
    if (onCitus) await assertUnconfined(connection);
    const distributed = onCitus || isDistributed ? await distribute(connection) : [];
    await extendCalendar(connection);
    // Beyond the migrations: both may lag behind a program that only words or grants something anew.
    await writeComments(connection);
    const reader = await grantReader(connection);
    if (onCitus || isDistributed) await grantFreshness(connection);
    return { applied: before.pending, known: before.known, reader, distributed };
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    // Ends the session, and with it the lock.
    await connection.close();
  }
}
