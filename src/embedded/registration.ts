import { setTimeout as delay } from 'node:timers/promises';
import { SECOND_MS } from '../shared/time.ts';
import { type Connection, openConnection } from '../database/connection.ts';
import { databaseCode } from '../database/database-error.ts';
import { isProcessAlive } from './process.ts';

/**
 * Users of the server are counted by PostgreSQL itself: each holds one session with a shared advisory lock, which
 * ends with the process, however that dies. Who gets the exclusive lock is the last one, and whoever comes
 * meanwhile waits for the shared lock until the server is gone, sees that, and starts it again.
 */
export interface Registration {
  /** Gives the registration up. True: this was the last user, no other can come in, and the server is to be stopped. */
  leave(): Promise<boolean>;
  /** Ends the session; after `leave`. */
  close(): Promise<void>;
}

/** In database `postgres`, whose advisory locks nobody else uses. */
const USERS_LOCK = '7310854162905';
const APPLICATION_NAME = 'safety-sync embedded server user';
const RENEW_MS = 15 * SECOND_MS;
/** How long a killed user's session may still be seen. */
const GHOST_PATIENCE_MS = 5 * SECOND_MS;
const POLL_MS = 20;

/** Undefined when the server cannot be used now: not yet up, or going down. */
export async function register(url: string): Promise<Registration | undefined> {
  const connection = openConnection({ url, applicationName: `${APPLICATION_NAME} ${process.pid}`, max: 1 });
  try {
    await connection.query(`select pg_advisory_lock_shared(${USERS_LOCK})`);
  } catch (error) {
    await connection.close();
    if (isPassing(error)) return undefined;
    throw error;
  }
  // PostgreSQL ends every session when one of them crashes; the registration comes back on a new one.
  const renewal = setInterval(() => void renew(connection), RENEW_MS).unref();
  return {
    leave: async () => {
      clearInterval(renewal);
      try {
        return await leave(connection);
      } catch (error) {
        if (isPassing(error)) return false;
        throw error;
      }
    },
    close: () => connection.close(),
  };
}

/** One statement, so that it is either before or after `leave` as a whole. */
async function renew(connection: Connection): Promise<void> {
  await connection
    .query(
      `select pg_advisory_lock_shared(${USERS_LOCK})
       where not exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())`,
    )
    .catch(() => undefined);
}

async function leave(connection: Connection): Promise<boolean> {
  // First out, then ask: of several that leave at once, the last to ask finds nobody.
  await connection.query('select pg_advisory_unlock_all()');
  const deadline = performance.now() + GHOST_PATIENCE_MS;
  for (;;) {
    const [row] = await connection.query<{ last: boolean }>(
      `select pg_try_advisory_lock(${USERS_LOCK}) as last`,
    );
    if (row?.last === true) return true;
    // A killed process's session lasts a moment longer than the process; who has no heir must wait for it.
    if (!(await hasOnlyGhosts(connection)) || performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
}

async function hasOnlyGhosts(connection: Connection): Promise<boolean> {
  const holders = await connection.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return holders.every(({ name }) => !isProcessAlive(Number(name.slice(APPLICATION_NAME.length))));
}

const PASSING = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECT_TIMEOUT'],
  ...['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'],
  ...['57P01', '57P02', '57P03'], // shutting down, crashed, starting up
]);

function isPassing(error: unknown): boolean {
  const code = databaseCode(error instanceof Error ? error.cause : error);
  return code !== undefined && PASSING.has(code);
}
