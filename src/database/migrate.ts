import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { SafetySyncError } from '../shared/errors.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import { VERSION } from '../version.ts';
import { completeAccess, confinementsIn, readPolicyTables } from './access.ts';
import { extendCalendar } from './calendar.ts';
import { assertCitus, distribute, grantFreshness, readCitus } from './citus.ts';
import { writeComments } from './comments.ts';
import { toArrayLiteral } from './array-literal.ts';
import { type Asked, type Connection, openConnection } from './connection.ts';
import { OWN_SETTINGS } from './session-settings.ts';
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

/** Read when the process begins: a newer program may be installed over a worker that runs. */
const KNOWN = (
  JSON.parse(readFileSync(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: { when: number }[];
  }
).entries.map((entry) => entry.when);

/**
 * Counts what the warehouse still lacks. A warehouse that was never migrated lacks everything. Error: `database_newer` where it
 * was migrated by a newer program, because this one does not know what the columns that were added there have to hold.
 */
export async function readMigrationStatus(connection: Asked): Promise<MigrationStatus> {
  const known = KNOWN;
  const [found] = await connection.query<{ present: boolean }>(
    `select to_regclass('${MIGRATIONS.schema}.${MIGRATIONS.table}') is not null as present`,
  );
  if (found?.present !== true) return { known: known.length, pending: known.length };
  const [last] = await connection.query<{ newest: string | null }>(
    `select max(created_at)::text as newest from ${MIGRATIONS.schema}.${MIGRATIONS.table}`,
  );
  const newest = Number(last?.newest ?? 0);
  if (newest > (known.at(-1) ?? 0)) {
    const [by] = await connection.query<{ version: string }>(
      `select program_version as version from ${MIGRATIONS.schema}.${MIGRATIONS.table} order by created_at desc limit 1`,
    );
    throw new SafetySyncError(
      'database_newer',
      `the warehouse was migrated by safety-sync ${by?.version ?? '(a newer version)'}, and this is the older ${VERSION}`,
    );
  }
  return { known: known.length, pending: known.filter((when) => when > newest).length };
}

/** Errors: `database_not_migrated` when the warehouse lacks a migration of this program, `database_newer`. */
export async function assertMigrated(connection: Asked): Promise<void> {
  const { pending } = await readMigrationStatus(connection);
  if (pending > 0) {
    throw new SafetySyncError(
      'database_not_migrated',
      `the warehouse lacks ${pending} of this program’s migrations`,
    );
  }
}

/** The ledger as drizzle's migrator keeps it, with the program that applied each migration. */
const CREATE_LEDGER = [
  `create schema if not exists ${MIGRATIONS.schema}`,
  `create table if not exists ${MIGRATIONS.schema}.${MIGRATIONS.table} (id serial primary key, hash text not null, created_at bigint)`,
  `alter table ${MIGRATIONS.schema}.${MIGRATIONS.table} add column if not exists program_version text`,
];

/** Ends the sessions of runs, as far as this role may end them. */
const END_RUNS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and application_name = any ($1::text[]) and pg_has_role(usesysid, 'usage')`;

/**
 * Ends runs under way, which lose nothing by it: they would go on storing as their program knows it. Until the migration is
 * committed no run can be opened; then a run of an older program fails before it stores anything.
 */
async function endRuns(connection: Connection): Promise<void> {
  const [runs] = await connection.query<{ present: boolean }>(
    `select to_regclass('safety_sync.runs') is not null as present`,
  );
  if (runs?.present !== true) return;
  await connection.query(
    `lock table ${MIGRATIONS.schema}.${MIGRATIONS.table}, safety_sync.runs in access exclusive mode`,
  );
  await connection.query(END_RUNS, [toArrayLiteral(STREAM_NAMES.map((stream) => `safety-sync ${stream}`))]);
}

/** All of them or none, and with them what readers may see of what they bring. */
async function applyMissing(connection: Connection, isDistributed: boolean): Promise<void> {
  const { known, pending } = await readMigrationStatus(connection);
  const missing = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).slice(known - pending);
  if (missing.length > 0) for (const statement of CREATE_LEDGER) await connection.query(statement);
  await connection.query('begin');
  if (missing.length > 0) await endRuns(connection);
  // Statements over several tables that foreign keys tie together, in one transaction.
  if (isDistributed) await connection.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
  for (const { sql: statements, hash, folderMillis } of missing) {
    for (const statement of statements) {
      await connection.query(statement);
      // A new table has to be distributed before the next statement refers to it.
      if (isDistributed && /create table/i.test(statement)) await distribute(connection);
    }
    await connection.query(
      `insert into ${MIGRATIONS.schema}.${MIGRATIONS.table} (hash, created_at, program_version) values ($1, $2, $3)`,
      [hash, folderMillis, VERSION],
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
      `select current_setting('server_version_num') as version, ${OWN_SETTINGS}`,
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
