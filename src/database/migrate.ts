import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { SafetySyncError } from '../shared/errors.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import { PACKAGE_URL, VERSION } from '../version.ts';
import { completeAccess, confinementsIn, readPolicyTables } from './access.ts';
import { extendCalendar } from './calendar.ts';
import { assertCitus, distribute, grantControl, readCitus } from './citus.ts';
import { writeComments } from './comments.ts';
import { toArrayLiteral } from './array-literal.ts';
import { type Asked, type Connection, openConnection } from './connection.ts';
import { OWN_SETTINGS } from './session-settings.ts';
import { toDatabaseError } from './database-error.ts';
import { applyDefinitions, readDefinitions } from './definitions.ts';
import { grantReader, type ReaderRole } from './reader-role.ts';

const MIGRATIONS_FOLDER = new URL('migrations/', PACKAGE_URL);
const MIGRATIONS = { schema: 'safety_sync', table: 'migrations' } as const;
/** Every process that migrates takes this lock first, so that two of them wait for each other. */
const MIGRATION_LOCK = "hashtextextended('safety-sync:migrate', 0)";
/** PostgreSQL's own version number: 14. */
export const OLDEST_SERVER = 140000;

export interface MigrationStatus {
  /** Migrations in this program. Its functions and views count as one. */
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
  /** Distributes the warehouse over the nodes of a Citus cluster. A distributed one remains so without it. */
  readonly onCitus?: boolean;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/** Read when the process begins: a newer program may be installed over a worker that runs. */
const KNOWN = (
  JSON.parse(readFileSync(new URL('meta/_journal.json', MIGRATIONS_FOLDER), 'utf8')) as {
    entries: { when: number }[];
  }
).entries.map((entry) => entry.when);
const DEFINITIONS = readDefinitions(MIGRATIONS_FOLDER);

/** The ledger's row for functions and views is the one without `created_at`. */
const READ_LEDGER = `select min(created_at)::text as oldest, max(created_at)::text as newest,
    (array_agg(program_version order by created_at desc) filter (where created_at is not null))[1] as version,
    min(hash) filter (where created_at is null) as definitions,
    min(program_version) filter (where created_at is null) as definitions_version
  from ${MIGRATIONS.schema}.${MIGRATIONS.table}`;

interface Ledger {
  readonly oldest: string | null;
  readonly newest: string | null;
  readonly version: string | null;
  readonly definitions: string | null;
  readonly definitions_version: string | null;
}

function isNewer(version: string): boolean {
  return version.localeCompare(VERSION, 'en', { numeric: true }) > 0;
}

/** Error: `database_newer`, because this program does not know which values the columns that were added need. */
function assertNotNewer({ newest, version, definitions, definitions_version: by }: Ledger): void {
  const isUnknown = Number(newest) > (KNOWN.at(-1) ?? 0);
  const isReplaced = by !== null && definitions !== DEFINITIONS.hash && isNewer(by);
  if (!isUnknown && !isReplaced) return;
  const writer = (isUnknown ? version : by) ?? '(a newer version)';
  throw new SafetySyncError(
    'database_newer',
    `the warehouse was migrated by safety-sync ${writer}, and this is the older ${VERSION}`,
  );
}

/**
 * Counts the missing migrations. A warehouse that was never migrated lacks all of them. Errors:
 * `database_newer`, `database_too_old` for a warehouse of a build before 1.0.
 */
export async function readMigrationStatus(connection: Asked): Promise<MigrationStatus> {
  const known = KNOWN.length + 1;
  const [found] = await connection.query<{ present: boolean }>(
    `select to_regclass('${MIGRATIONS.schema}.${MIGRATIONS.table}') is not null as present`,
  );
  if (found?.present !== true) return { known, pending: known };
  const [ledger] = await connection.query<Ledger>(READ_LEDGER);
  if (ledger === undefined) return { known, pending: known };
  assertNotNewer(ledger);
  if (ledger.oldest !== null && Number(ledger.oldest) < (KNOWN[0] ?? 0)) {
    throw new SafetySyncError('database_too_old', 'this warehouse was made by a build from before 1.0', {
      advice: 'Its schema is not taken over: use an empty database, and run safety-sync backfill.',
    });
  }
  const missing = KNOWN.filter((when) => when > Number(ledger.newest)).length;
  return { known, pending: missing + (ledger.definitions === DEFINITIONS.hash ? 0 : 1) };
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

const CREATE_LEDGER = [
  `create schema if not exists ${MIGRATIONS.schema}`,
  `create table if not exists ${MIGRATIONS.schema}.${MIGRATIONS.table} (
     id serial primary key, hash text not null, created_at bigint, program_version text not null)`,
];

/** Ends the sessions of runs, as far as this role may end them. */
const END_RUNS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and application_name = any ($1::text[]) and pg_has_role(usesysid, 'usage')`;

/**
 * Ends active runs, which lose no data: they would continue to store in the old form. Until the migration is
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

const NOTE = `insert into ${MIGRATIONS.schema}.${MIGRATIONS.table} (hash, created_at, program_version) values ($1, $2, $3)`;

/** All of them or none, together with the readers' access to the new relations. */
async function applyMissing(connection: Connection, isDistributed: boolean): Promise<void> {
  const { pending } = await readMigrationStatus(connection);
  if (pending > 0) for (const statement of CREATE_LEDGER) await connection.query(statement);
  await connection.query('begin');
  if (pending > 0) {
    const [ledger] = await connection.query<Ledger>(READ_LEDGER);
    const missing = readMigrationFiles({ migrationsFolder: fileURLToPath(MIGRATIONS_FOLDER) }).filter(
      ({ folderMillis }) => folderMillis > Number(ledger?.newest),
    );
    if (missing.length > 0) await endRuns(connection);
    // Statements over several tables that foreign keys tie together, in one transaction.
    if (isDistributed) await connection.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
    for (const { sql: statements, hash, folderMillis } of missing) {
      for (const statement of statements) {
        await connection.query(statement);
        // A new table has to be distributed before the next statement refers to it.
        if (isDistributed && /create table/i.test(statement)) await distribute(connection);
      }
      await connection.query(NOTE, [hash, folderMillis, VERSION]);
    }
    if (ledger?.definitions !== DEFINITIONS.hash) {
      await applyDefinitions(connection, DEFINITIONS);
      await connection.query(`delete from ${MIGRATIONS.schema}.${MIGRATIONS.table} where created_at is null`);
      await connection.query(NOTE, [DEFINITIONS.hash, null, VERSION]);
    }
  }
  await completeAccess(connection);
  await connection.query('commit');
}

/** The policies that confine readers would be lost on the nodes. Error: `access_unsupported`. */
async function assertUnconfined(connection: Connection): Promise<void> {
  const [one] = confinementsIn(await readPolicyTables(connection));
  if (one === undefined) return;
  throw new SafetySyncError(
    'access_unsupported',
    `${one.role} is confined to accounts, and Citus does not keep row-level security on its nodes`,
    { advice: `First, on one PostgreSQL: safety-sync access revoke ${one.role}` },
  );
}

/**
 * Applies the missing migrations; several processes may do so at once. Errors: `database_unreachable`,
 * `database_too_old`, `database_error`.
 */
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
    // Not part of the migrations: both may be outdated when a program changes only comments or grants.
    await writeComments(connection);
    const reader = await grantReader(connection);
    if (onCitus || isDistributed) await grantControl(connection);
    return { applied: before.pending, known: before.known, reader, distributed };
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    // Ends the session, and with it the lock.
    await connection.close();
  }
}
