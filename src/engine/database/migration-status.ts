/** Which migrations the warehouse has, compared with those of this program. */
import { SafetySyncError } from '../../shared/errors.ts';
import { VERSION } from '../../version.ts';
import type { TextQueries } from './connection.ts';
import { DEFINITIONS, MIGRATION_FILES } from './definitions.ts';

export const LEDGER = 'safety_sync.migrations';

const KNOWN = MIGRATION_FILES.map(({ folderMillis }) => folderMillis);

export type MigrationStatus = Awaited<ReturnType<typeof readMigrationStatus>>;

/** A migration has `created_at`; a function or view has `name` instead. A ledger from before 1.0 lacks columns. */
const READ_LEDGER = `select created_at::float8 as made_at, hash, r ->> 'name' as name, coalesce(r ->> 'program_version', '') as version,
    to_regclass('safety.' || quote_ident(r ->> 'name')) is not null as is_there
  from ${LEDGER} m cross join lateral to_jsonb(m) r`;

interface LedgerRow {
  readonly made_at: number | null;
  readonly hash: string;
  readonly name: string | null;
  /** Of the program that migrated. */
  readonly version: string;
  /** The view exists. */
  readonly is_there: boolean;
}

/**
 * Compares the warehouse with this program. A warehouse that was never migrated lacks everything. Errors:
 * `database_newer`, because this program does not know which values the columns that were added need; `database_too_old` for
 * a warehouse of a build before 1.0.
 */
export async function readMigrationStatus(connection: TextQueries) {
  const [ledger] = await connection.query<{ exists: boolean }>(
    `select to_regclass('${LEDGER}') is not null as exists`,
  );
  const rows = ledger?.exists === true ? await connection.query<LedgerRow>(READ_LEDGER) : [];
  const times = rows.flatMap((one) => one.made_at ?? []);
  const newest = Math.max(0, ...times);
  const compare = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });
  const newer = rows.map(({ version }) => version).filter((one) => compare(one, VERSION) > 0);
  if (newer.length > 0 || newest > (KNOWN.at(-1) ?? 0)) {
    const other = newer.toSorted(compare).at(-1) ?? '(a newer version)';
    const message = `the warehouse was migrated by safety-sync ${other}, and this is the older ${VERSION}`;
    throw new SafetySyncError('database_newer', message);
  }
  if (Math.min(...times) < (KNOWN[0] ?? 0)) {
    throw new SafetySyncError('database_too_old', 'this warehouse was made by a build from before 1.0', {
      advice: 'Its schema is not taken over: make a new database, or remove .data if it is the embedded one.',
    });
  }
  const pendingTables = KNOWN.filter((when) => when > newest).length;
  const changed = DEFINITIONS.filter(
    ({ name, hash, isView }) =>
      !rows.some((one) => one.name === name && one.hash === hash && (!isView || one.is_there)),
  );
  const dropped = rows
    .filter((one) => one.is_there && !DEFINITIONS.some(({ name }) => name === one.name))
    .flatMap((one) => one.name ?? []);
  const views = changed.length + dropped.length > 0 ? 1 : 0;
  return {
    /** Migrations in this program. Its functions and views count as one. */
    known: KNOWN.length + 1,
    /** Migrations of this program that the warehouse has not seen. */
    pending: pendingTables + views,
    /** Those of them that change tables. Without them nothing can be stored; with outdated views it can. */
    pendingTables,
    /** Functions and views to create or replace, in the order of their use. */
    changed,
    /** Names of views that this program has no more. */
    dropped,
  };
}

/** Error: `database_not_migrated` while so many migrations are missing. */
export function assertNothingPending(migrations: number): void {
  if (migrations === 0) return;
  const message = `the warehouse lacks ${migrations} of this program’s migrations`;
  throw new SafetySyncError('database_not_migrated', message);
}

/**
 * Errors: `database_not_migrated` when the tables lack a migration of this program, `database_newer`. Views may wait for their
 * readers for long: until then they show what they showed before.
 */
export async function assertMigrated(connection: TextQueries): Promise<void> {
  assertNothingPending((await readMigrationStatus(connection)).pendingTables);
}
