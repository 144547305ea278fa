import { ignoreRejection, SafetySyncError } from '../shared/errors.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import { VERSION } from '../version.ts';
import { completeAccess, confinementsIn, readPolicyTables } from './access.ts';
import { extendCalendar } from './calendar.ts';
import { assertCitus, distribute, grantControl, readCitus } from './citus.ts';
import { writeComments } from './comments.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { type Connection, openConnection, type TextQueries } from '../engine/database/connection.ts';
import { holderName } from '../engine/control-tables/lock-holders.ts';
import { SECOND_MS } from '../shared/time.ts';
import { OWN_SETTINGS } from '../engine/database/session-settings.ts';
import { toDatabaseError } from '../engine/database/database-error.ts';
import { applyDefinitions } from '../engine/database/definitions.ts';
import {
  DEFINITIONS,
  type Ledger,
  MIGRATION_FILES,
  MIGRATIONS,
  READ_LEDGER,
  readMigrationStatus,
} from '../engine/database/migration-status.ts';
import { grantReader } from './reader-role.ts';

/** Every process that migrates takes this lock first, so that two of them wait for each other. */
const MIGRATION_LOCK = "hashtextextended('safety-sync:migrate', 0)";
/** PostgreSQL's own version number: 14. */
export const OLDEST_SERVER = 140000;

/** Other encodings lack characters of texts, or do not check them. */
export const ENCODING = 'UTF8';
export const ENCODING_ADVICE =
  'Create a database whose texts are UTF8: createdb --encoding=UTF8 --template=template0 NAME';

export interface MigrateOptions {
  /** Distributes the warehouse over the nodes of a Citus cluster. A distributed one remains so without it. */
  readonly onCitus?: boolean;
  /** Receives a warning when the migration begins to wait for locks of other sessions. */
  readonly warn?: ((message: string) => void) | undefined;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
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
 * Ends active runs, because they would continue to store in the old form; they lose no data. Until the migration is
 * committed, no run can be opened. Afterwards a run of an older program fails before it stores anything.
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
    const missing = MIGRATION_FILES.filter(({ folderMillis }) => folderMillis > Number(ledger?.newest));
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

const LOCK_CHECK_MS = 2 * SECOND_MS;

const BLOCKERS = `select a.pid, a.usename as role, a.application_name as application
  from unnest(pg_blocking_pids($1)) b (pid) join pg_stat_activity a on a.pid = b.pid order by 1`;

/** Names the sessions that a migration waits for, because a forgotten transaction would let it wait without a reason in the log. */
function warnOfLocks(connection: TextQueries, migrator: number, warn: (message: string) => void) {
  let known = '';
  const check = async (): Promise<void> => {
    const blockers = await connection.query<Parameters<typeof holderName>[0]>(BLOCKERS, [migrator]);
    const names = blockers.map(
      (one) => `${holderName(one)}, to end it: select pg_terminate_backend(${one.pid})`,
    );
    const message = names.length === 0 ? '' : `the migration waits for a lock of ${names.join('; ')}`;
    if (message !== '' && message !== known) warn(message);
    known = message;
  };
  // A failed check changes nothing: the migration itself reports a lost database.
  return setInterval(() => void ignoreRejection(check()), LOCK_CHECK_MS);
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
export async function migrateDatabase(url: string, { onCitus = false, warn, signal }: MigrateOptions = {}) {
  const connection = openConnection({
    url,
    applicationName: 'safety-sync migrate',
    max: 1,
    isSession: true,
    signal,
  });
  // Connects with its first statement.
  const watcher = openConnection({ url, applicationName: 'safety-sync', max: 1 });
  let timer: NodeJS.Timeout | undefined;
  try {
    const [server] = await connection.query<{ version: string; encoding: string; pid: number }>(
      `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding, pg_backend_pid() as pid, ${OWN_SETTINGS}`,
    );
    if (warn !== undefined && server !== undefined) timer = warnOfLocks(watcher, server.pid, warn);
    if (Number(server?.version ?? 0) < OLDEST_SERVER) {
      throw new SafetySyncError('database_too_old', `this PostgreSQL is version ${String(server?.version)}`);
    }
    if (onCitus) await assertCitus(connection);
    await connection.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    const before = await readMigrationStatus(connection);
    if (before.pending === before.known && server?.encoding !== ENCODING) {
      const message = `the encoding of this database is ${String(server?.encoding)}, not ${ENCODING}`;
      throw new SafetySyncError('database_error', message, { advice: ENCODING_ADVICE });
    }
    const isDistributed = (await readCitus(connection))?.isDistributed === true;
    await applyMissing(connection, isDistributed);
    if (onCitus) await assertUnconfined(connection);
    /** Tables that were distributed now. */
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
    clearInterval(timer);
    await watcher.close();
    // Ends the session, and with it the lock.
    await connection.close();
  }
}
