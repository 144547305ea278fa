/** Sessions of the embedded server's administration, independent of the warehouse, and the count of its users by them. */
import postgres, { type Sql } from 'postgres';
import { isErrorWithCode } from './process.ts';

const CONNECT_TIMEOUT_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 5;

export function openAdminSession(url: string, applicationName: string): Sql {
  return postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    // The connection is not recycled, because its session holds a lock.
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: applicationName },
  });
}

export const closeSession = (session: Sql): Promise<void> => session.end({ timeout: CLOSE_TIMEOUT_SECONDS });

export const isFromServer = (error: unknown): boolean => error instanceof postgres.PostgresError;

/** Unregisters. For the last user it calls `stop`, which has to stop the server: until then no other user can register. */
type Unregister = (stop: () => Promise<void>) => Promise<void>;

/** A lock in database `postgres`, where no other program uses advisory locks. */
const USERS_LOCK = '7310854162905';

/**
 * Counts the users of the server by PostgreSQL's own locks: each user's session holds a shared advisory lock, which ends
 * with its process. The last user gets the exclusive lock. A process that arrives meanwhile waits for the shared lock until
 * the server has stopped, and then starts it again. Undefined when the server is unavailable: starting or stopping.
 */
export async function register(url: string): Promise<Unregister | undefined> {
  const session = openAdminSession(url, 'safety-sync embedded server user');
  try {
    await session.unsafe(`select pg_advisory_lock_shared(${USERS_LOCK})`);
  } catch (error) {
    await closeSession(session);
    if (isPassing(error)) return undefined;
    throw error;
  }
  return async (stop) => {
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

async function leave(session: Sql): Promise<boolean> {
  // Releases the shared lock first: if several users leave at once, the last one gets the exclusive lock.
  await session.unsafe('select pg_advisory_unlock_all()');
  const [row] = await session.unsafe<{ last: boolean }[]>(
    `select pg_try_advisory_lock(${USERS_LOCK}) as last`,
  );
  return row?.last === true;
}

const PASSING = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'CONNECT_TIMEOUT'],
  ...['CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'],
  ...['57P01', '57P02', '57P03'], // shutting down, crashed, starting up
];

const isPassing = (error: unknown): boolean => isErrorWithCode(error, ...PASSING);
