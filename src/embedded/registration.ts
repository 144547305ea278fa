import { SECOND_MS, sleep } from '../shared/time.ts';
import { isErrorWithCode, isProcessAlive } from './process.ts';
import { closeSession, openAdminSession, type Session } from './session.ts';

/** Unregisters. For the last user it calls `stop`, which has to stop the server: until then no other user can register. */
type Unregister = (stop: () => Promise<void>) => Promise<void>;

/** A lock in database `postgres`, where no other program uses advisory locks. */
const USERS_LOCK = '7310854162905';
const APPLICATION_NAME = 'safety-sync embedded server user';
const RENEW_MS = 15 * SECOND_MS;
/** How long the session of a killed user may remain visible. */
const GHOST_TIMEOUT_MS = 5 * SECOND_MS;
const POLL_MS = 20;

/**
 * Counts the users of the server by PostgreSQL's own locks: each user's session holds a shared advisory lock, which ends
 * with its process. The last user gets the exclusive lock. A process that arrives meanwhile waits for the shared lock until
 * the server has stopped, and then starts it again. Undefined when the server is unavailable: starting or stopping.
 */
export async function register(url: string): Promise<Unregister | undefined> {
  const session = openAdminSession(url, `${APPLICATION_NAME} ${process.pid}`);
  try {
    await session.unsafe(`select pg_advisory_lock_shared(${USERS_LOCK})`);
  } catch (error) {
    await closeSession(session);
    if (isPassing(error)) return undefined;
    throw error;
  }
  // PostgreSQL ends all sessions when one of them crashes; the registration is repeated by a new one.
  const renewal = setInterval(() => void renew(session), RENEW_MS).unref();
  return async (stop) => {
    clearInterval(renewal);
    try {
      const isLast = await leave(session).catch((error: unknown) => {
        if (isPassing(error)) return false;
        throw error;
      });
      if (isLast) await stop();
    } finally {
      await closeSession(session);
    }
  };
}

/** One statement, so that it runs either before or after the whole of `leave`. */
async function renew(session: Session): Promise<void> {
  await session
    .unsafe(
      `select pg_advisory_lock_shared(${USERS_LOCK})
       where not exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())`,
    )
    .catch(() => undefined);
}

async function leave(session: Session): Promise<boolean> {
  // Releases the shared lock first: if several users leave at once, the last one gets the exclusive lock.
  await session.unsafe('select pg_advisory_unlock_all()');
  const deadline = performance.now() + GHOST_TIMEOUT_MS;
  for (;;) {
    const [row] = await session.unsafe<{ last: boolean }[]>(
      `select pg_try_advisory_lock(${USERS_LOCK}) as last`,
    );
    if (row?.last === true) return true;
    // The session of a killed process ends a moment later, so the last user waits for it.
    if (!(await hasOnlyGhosts(session)) || performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
}

async function hasOnlyGhosts(session: Session): Promise<boolean> {
  const holders = await session.unsafe<{ name: string }[]>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())`,
  );
  return holders.every(({ name }) => !isProcessAlive(Number(name.slice(APPLICATION_NAME.length))));
}

const PASSING = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECT_TIMEOUT'],
  ...['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'],
  ...['57P01', '57P02', '57P03'], // shutting down, crashed, starting up
];

const isPassing = (error: unknown): boolean => isErrorWithCode(error, ...PASSING);
