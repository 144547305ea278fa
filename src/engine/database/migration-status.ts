/** Which migrations the warehouse has, compared with those of this program. */
import { SafetySyncError } from '../../shared/errors.ts';
import { VERSION } from '../../version.ts';
import type { TextQueries } from './connection.ts';
import { DEFINITIONS, MIGRATION_FILES } from './definitions.ts';

export const LEDGER = 'safety_sync.migrations';

const KNOWN = MIGRATION_FILES.map(({ folderMillis }) => folderMillis);

export type MigrationStatus = Awaited<ReturnType<typeof readMigrationStatus>>;

/** A migration has `created_at`; a function or view has `name` instead. */
const READ_LEDGER = `select json_build_object('oldest', min(created_at), 'newest', coalesce(max(created_at), 0),
    'versions', coalesce(json_agg(distinct program_version), '[]'),
    'hashes', coalesce(json_object_agg(name, hash) filter (where name is not null), '{}'),
    'views', (select coalesce(json_agg(relname), '[]') from pg_class
      where relnamespace = to_regnamespace('safety') and relkind = 'v'))::text as ledger
  from ${LEDGER}`;

interface Ledger {
  readonly oldest: number | null;
  readonly newest: number;
  /** Of the programs that migrated. */
  readonly versions: readonly string[];
  readonly hashes: Readonly<Record<string, string>>;
  /** The views that exist. */
  readonly views: readonly string[];
}

const NOTHING: Ledger = { oldest: null, newest: 0, versions: [], hashes: {}, views: [] };

/** Error: `database_newer`, because this program does not know which values the columns that were added need. */
function assertNotNewer({ newest, versions }: Ledger): void {
  const compare = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });
  const newer = versions.filter((one) => compare(one, VERSION) > 0);
  if (newer.length === 0 && newest <= (KNOWN.at(-1) ?? 0)) return;
  throw new SafetySyncError(
    'database_newer',
    `the warehouse was migrated by safety-sync ${newer.toSorted(compare).at(-1) ?? '(a newer version)'}, and this is the older ${VERSION}`,
  );
}

const tooOld = (): SafetySyncError =>
  new SafetySyncError('database_too_old', 'this warehouse was made by a build from before 1.0', {
    advice: 'Its schema is not taken over: make a new database, or remove .data if it is the embedded one.',
  });

/**
 * Compares the warehouse with this program. A warehouse that was never migrated lacks everything. Errors:
 * `database_newer`, `database_too_old` for a warehouse of a build before 1.0.
 */
export async function readMigrationStatus(connection: TextQueries) {
  const [found] = await connection.query<{ is_named: boolean }>(
    `select exists (select from pg_attribute where attrelid = t and attname = 'name') as is_named
       from to_regclass('${LEDGER}') t where t is not null`,
  );
  if (found?.is_named === false) throw tooOld();
  const [row] = found === undefined ? [] : await connection.query<{ ledger: string }>(READ_LEDGER);
  const ledger = row === undefined ? NOTHING : (JSON.parse(row.ledger) as Ledger);
  assertNotNewer(ledger);
  if (ledger.oldest !== null && ledger.oldest < (KNOWN[0] ?? 0)) throw tooOld();
  const { hashes, newest } = ledger;
  const existing = new Set(ledger.views);
  const pendingTables = KNOWN.filter((when) => when > newest).length;
  const changed = DEFINITIONS.filter(
    ({ name, hash, isView }) => hashes[name] !== hash || (isView && !existing.has(name)),
  );
  const ours = new Set(DEFINITIONS.map(({ name }) => name));
  const dropped = Object.keys(hashes).filter((name) => !ours.has(name) && existing.has(name));
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

/**
 * Errors: `database_not_migrated` when the tables lack a migration of this program, `database_newer`. Views may wait for their
 * readers for long: until then they show what they showed before.
 */
export async function assertMigrated(connection: TextQueries): Promise<void> {
  const { pendingTables } = await readMigrationStatus(connection);
  if (pendingTables > 0)
    throw new SafetySyncError(
      'database_not_migrated',
      `the warehouse lacks ${pendingTables} of this program’s migrations`,
    );
}
