/** Which migrations the warehouse has, compared with those of this program. */
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { SafetySyncError } from '../../shared/errors.ts';
import { PACKAGE_URL, VERSION } from '../../version.ts';
import type { TextQueries } from './connection.ts';
import { readDefinitions } from './definitions.ts';

const MIGRATIONS_FOLDER = new URL('migrations/', PACKAGE_URL);
export const MIGRATIONS = { schema: 'safety_sync', table: 'migrations' } as const;
export interface MigrationStatus {
  /** Migrations in this program. Its functions and views count as one. */
  readonly known: number;
  /** Migrations of this program that the warehouse has not seen. */
  readonly pending: number;
}

/** Both are read when the process begins: a newer program may be installed over a worker that runs. */
export const MIGRATION_FILES = readMigrationFiles({ migrationsFolder: fileURLToPath(MIGRATIONS_FOLDER) });
export const DEFINITIONS = readDefinitions(MIGRATIONS_FOLDER);
const KNOWN = MIGRATION_FILES.map(({ folderMillis }) => folderMillis);

/** The ledger's row for functions and views is the one without `created_at`. */
export const READ_LEDGER = `select min(created_at)::text as oldest, max(created_at)::text as newest,
    (array_agg(program_version order by created_at desc) filter (where created_at is not null))[1] as version,
    min(hash) filter (where created_at is null) as definitions,
    min(program_version) filter (where created_at is null) as definitions_version
  from ${MIGRATIONS.schema}.${MIGRATIONS.table}`;

export interface Ledger {
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

const tooOld = (): SafetySyncError =>
  new SafetySyncError('database_too_old', 'this warehouse was made by a build from before 1.0', {
    advice: 'Its schema is not taken over: use an empty database, and run safety-sync backfill.',
  });

/**
 * Counts the missing migrations. A warehouse that was never migrated lacks all of them. Errors:
 * `database_newer`, `database_too_old` for a warehouse of a build before 1.0.
 */
export async function readMigrationStatus(connection: TextQueries): Promise<MigrationStatus> {
  const known = KNOWN.length + 1;
  const [found] = await connection.query<{ is_dated: boolean }>(
    `select exists (select from pg_attribute where attrelid = t and attname = 'program_version') as is_dated
       from to_regclass('${MIGRATIONS.schema}.${MIGRATIONS.table}') t where t is not null`,
  );
  if (found === undefined) return { known, pending: known };
  if (!found.is_dated) throw tooOld();
  const [ledger] = await connection.query<Ledger>(READ_LEDGER);
  if (ledger === undefined) return { known, pending: known };
  assertNotNewer(ledger);
  if (ledger.oldest !== null && Number(ledger.oldest) < (KNOWN[0] ?? 0)) throw tooOld();
  const missing = KNOWN.filter((when) => when > Number(ledger.newest)).length;
  return { known, pending: missing + (ledger.definitions === DEFINITIONS.hash ? 0 : 1) };
}

/** Errors: `database_not_migrated` when the warehouse lacks a migration of this program, `database_newer`. */
export async function assertMigrated(connection: TextQueries): Promise<void> {
  const { pending } = await readMigrationStatus(connection);
  if (pending > 0) {
    throw new SafetySyncError(
      'database_not_migrated',
      `the warehouse lacks ${pending} of this program’s migrations`,
    );
  }
}
