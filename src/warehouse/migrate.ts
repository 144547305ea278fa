/** Applies the migrations beside workers and readers: tables in one transaction, then views (migrate-views.ts). */
import { STREAM_NAMES } from '../engine/streams/index.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import { type Connection, openConnection, type TextQueries } from '../engine/database/connection.ts';
import { databaseCode } from '../engine/database/database-error.ts';
import { DEFINITIONS, MIGRATION_FILES } from '../engine/database/definitions.ts';
import { LEDGER, type MigrationStatus, readMigrationStatus } from '../engine/database/migration-status.ts';
import { sessionName } from '../engine/control-tables/stream-session.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS, SECOND_MS, sleep } from '../shared/time.ts';
import { VERSION } from '../version.ts';
import { completeAccess } from './access.ts';
import { extendCalendar } from './calendar.ts';
import { assertCitus, distribute, grantControl, isDistributed } from './citus.ts';
import { writeComments } from './comments.ts';
import { applyStep, dropViews, planViews, readViewsInTheWay, type ViewStep } from './migrate-views.ts';
import { grantReader } from './reader-role.ts';

const APPLICATION = 'safety-sync migrate';
/** Every process that migrates takes this lock first, so that two of them wait for each other. */
const MIGRATION_LOCK = "hashtextextended('safety-sync:migrate', 0)";
/** PostgreSQL's own version number: 14. */
export const OLDEST_SERVER = 140000;

/** Other encodings lack characters of texts, or do not check them. */
export const ENCODING = 'UTF8';
export const ENCODING_ADVICE =
  'Create a database whose texts are UTF8: createdb --encoding=UTF8 --template=template0 NAME';

/** How long a command waits for sessions that hold locks. */
const PATIENCE_MS = 10 * MINUTE_MS;
/** A statement that waits for a lock makes all later readers wait, so it gives way after this time. */
const LOCK_TIMEOUT_MS = SECOND_MS;
/** Readers that have waited go on before the next attempt. */
const PAUSE_MS = 2 * SECOND_MS;
const GIVES_WAY = new Set(['55P03', '40P01']);

export interface MigrateOptions {
  /** Distributes the warehouse over the nodes of a Citus cluster. A distributed one remains so without it. */
  readonly onCitus?: boolean;
  /** Time to wait for locks of other sessions; default: ten minutes. */
  readonly patienceMs?: number | undefined;
  /** Called when the tables are those of this program; its views may still wait for readers. */
  readonly onTables?: (() => Promise<void>) | undefined;
  /** Receives a warning when the migration waits for locks of other sessions. */
  readonly warn?: ((message: string) => void) | undefined;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

const CREATE_LEDGER = [
  `create schema if not exists safety_sync`,
  `create table if not exists ${LEDGER} (
     id serial primary key, hash text not null, created_at bigint, name text, program_version text not null)`,
];

/** Ends the sessions of runs, as far as this role may end them. */
const END_RUNS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and application_name = any ($1::text[]) and pg_has_role(usesysid, 'usage')`;

/**
 * Ends active runs, because they would continue to store in the old form; they lose no data. Until the migration is
 * committed, no run can be opened. Afterwards a run of an older program fails before it stores anything.
 */
async function endRuns(connection: Connection): Promise<void> {
  await connection.query(`lock table ${LEDGER}, safety_sync.runs in access exclusive mode`);
  await connection.query(END_RUNS, [toArrayLiteral(STREAM_NAMES.map(sessionName))]);
}

/**
 * Part of a transaction: all missing migrations of tables. Views that read a column which goes or changes its type are
 * dropped before, and made again here. Returns the steps for the remaining views. Error: `view_in_the_way`.
 */
async function migrateTables(
  connection: Connection,
  status: MigrationStatus,
  areDistributed: boolean,
): Promise<ViewStep[]> {
  const missing = MIGRATION_FILES.slice(MIGRATION_FILES.length - status.pendingTables);
  const isNew = missing.length === MIGRATION_FILES.length;
  if (missing.length > 0 && !isNew) await endRuns(connection);
  // Statements over several tables that foreign keys tie together, in one transaction.
  if (areDistributed) await connection.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
  const inTheWay: string[] = [];
  const grants: string[] = [];
  for (const { sql: statements, hash, folderMillis } of missing) {
    for (const statement of statements) {
      const views = await readViewsInTheWay(connection, statement);
      inTheWay.push(...views);
      grants.push(...(await dropViews(connection, views)));
      await connection.query(statement);
      // A new table has to be distributed before the next statement refers to it.
      if (areDistributed && /create table/i.test(statement)) await distribute(connection);
    }
    await connection.query(`insert into ${LEDGER} (hash, created_at, program_version) values ($1, $2, $3)`, [
      hash,
      folderMillis,
      VERSION,
    ]);
  }
  const changed = DEFINITIONS.filter((one) => status.changed.includes(one) || inTheWay.includes(one.name));
  const steps = isNew
    ? [{ drop: [], apply: DEFINITIONS }]
    : await planViews(connection, { changed, dropped: status.dropped });
  const isAtOnce = isNew || inTheWay.length > 0;
  if (isAtOnce) for (const step of steps) await applyStep(connection, step);
  else if (missing.length > 0) await completeAccess(connection);
  for (const statement of grants) await connection.query(statement);
  return isAtOnce ? [] : steps;
}

/** The sessions that the migration waits for. */
const BLOCKERS = `select string_agg(format('role %s (%s, pid %s), to end it: select pg_terminate_backend(%s)',
    coalesce(a.usename, 'unknown'), a.application_name, a.pid, a.pid), '; ' order by a.pid) as names
  from unnest(pg_blocking_pids($1)) b (pid) join pg_stat_activity a on a.pid = b.pid`;

/**
 * Returns the function that runs `work` in a transaction, again and again where locks of others are in its way. Another
 * connection looks for those sessions, because a forgotten transaction would let the migration wait without a reason in the
 * log. Error: `migration_blocked`.
 */
function createTransactions(
  connection: Connection,
  { pid, watcher }: { readonly pid: number; readonly watcher: TextQueries },
  { patienceMs = PATIENCE_MS, warn, signal }: MigrateOptions,
) {
  const deadlineMs = performance.now() + patienceMs;
  let said = 'another session holds a lock';
  async function nameHolders(): Promise<void> {
    const [found] = await watcher.query<{ names: string | null }>(BLOCKERS, [pid]);
    if (found?.names == null) return;
    const message = `the migration waits for a lock of ${found.names}`;
    // That another process migrates is the normal case where several start together.
    if (message !== said && !message.includes(`(${APPLICATION},`)) warn?.(message);
    said = message;
  }
  return async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      // A failed look changes nothing: the migration itself reports a lost database.
      const look = setInterval(() => void nameHolders().catch(() => undefined), LOCK_TIMEOUT_MS / 3);
      try {
        await connection.query('begin');
        await connection.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        const result = await work();
        await connection.query('commit');
        return result;
      } catch (error) {
        await connection.query('rollback').catch(() => undefined);
        if (signal?.aborted === true || !GIVES_WAY.has(databaseCode(error) ?? '')) throw error;
        if (performance.now() > deadlineMs)
          throw new SafetySyncError('migration_blocked', said, { cause: error });
      } finally {
        clearInterval(look);
      }
      await sleep(PAUSE_MS, signal);
    }
  };
}

/**
 * Applies the missing migrations; several processes may do so at once. Errors: `database_unreachable`,
 * `database_too_old`, `database_newer`, `view_in_the_way`, `migration_blocked`, `database_error`.
 */
export async function migrateDatabase(url: string, options: MigrateOptions = {}) {
  const { onCitus = false, onTables, signal } = options;
  const connection = openConnection({ url, applicationName: APPLICATION, isSession: true, signal });
  // Connects with its first statement.
  const watcher = openConnection({ url });
  try {
    const [server] = await connection.query<{ version: string; encoding: string; pid: number }>(
      `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding, pg_backend_pid() as pid`,
    );
    if (Number(server?.version ?? 0) < OLDEST_SERVER) {
      throw new SafetySyncError('database_too_old', `this PostgreSQL is version ${String(server?.version)}`);
    }
    if (onCitus) await assertCitus(connection);
    const inTransaction = createTransactions(connection, { pid: server?.pid ?? 0, watcher }, options);
    // Belongs to the session, so it stays after the transaction.
    await inTransaction(() => connection.query(`select pg_advisory_lock(${MIGRATION_LOCK})`));
    const status = await readMigrationStatus(connection);
    if (status.pending === status.known && server?.encoding !== ENCODING) {
      const message = `the encoding of this database is ${String(server?.encoding)}, not ${ENCODING}`;
      throw new SafetySyncError('database_error', message, { advice: ENCODING_ADVICE });
    }
    if (status.pending > 0) for (const statement of CREATE_LEDGER) await connection.query(statement);
    const areDistributed = await isDistributed(connection);
    const steps = await inTransaction(() => migrateTables(connection, status, areDistributed));
    /** Tables that were distributed now. */
    const distributed = onCitus || areDistributed ? await distribute(connection) : [];
    await extendCalendar(connection);
    await onTables?.();
    for (const step of steps) await inTransaction(() => applyStep(connection, step));
    // Not part of the migrations: these may be outdated when a program changes only comments or grants.
    await inTransaction(() => completeAccess(connection));
    await writeComments(connection);
    const readerAdvice = await grantReader(connection);
    if (onCitus || areDistributed) await grantControl(connection);
    return { applied: status.pending, known: status.known, readerAdvice, distributed };
  } finally {
    await watcher.close();
    // Ends the session, and with it the lock.
    await connection.close();
  }
}
