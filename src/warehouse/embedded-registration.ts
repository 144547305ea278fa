import postgres from 'postgres';
import { isErrorWithCode } from './embedded-cluster.ts';

/**
 * Users of the server are counted by PostgreSQL itself: each holds one session with a shared advisory lock, which
 * the kernel ends with the process, however that dies. Who gets the exclusive lock is the last one, and whoever
 * comes meanwhile waits for the shared lock until the server is gone, sees that, and starts it again.
 */
export interface Registration {
  /** Gives the registration up. True: this was the last user, none can come in between, and the server is to be stopped. */
  leave(): Promise<boolean>;
  /** Ends the session; after `leave`. */
  close(): Promise<void>;
}

/** In database `postgres`, whose advisory locks nobody else uses. */
const USERS_LOCK = '7310854162905';

/** Undefined when the server cannot be used now: not yet up, or going down. */
export async function register(url: string): Promise<Registration | undefined> {
  const sql = postgres(url, {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 10,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: 'safety-sync embedded server user' },
    onclose: () => void enter().catch(() => undefined),
  });
  let entered = false;
  // Also after the session was lost (PostgreSQL restarts all of them when one crashes): comes back on a new one.
  async function enter(): Promise<void> {
    if (entered) await sql`select pg_advisory_lock_shared(${USERS_LOCK}::bigint)`;
  }
  try {
    await sql`select pg_advisory_lock_shared(${USERS_LOCK}::bigint)`;
    entered = true;
  } catch (error) {
    await sql.end({ timeout: 0 });
    if (isPassing(error)) return undefined;
    throw error;
  }
  return {
    leave: async () => {
      entered = false;
      try {
        // First out, then ask: of several that leave at once, the last to ask finds nobody.
        await sql`select pg_advisory_unlock_all()`;
        const [row] = await sql<
          { last: boolean }[]
        >`select pg_try_advisory_lock(${USERS_LOCK}::bigint) as last`;
        return row?.last === true;
      } catch (error) {
        if (isPassing(error)) return false;
        throw error;
      }
    },
    close: async () => {
      entered = false;
      await sql.end({ timeout: 0 });
    },
  };
}

/** Refused, cut, starting up, shutting down. */
function isPassing(error: unknown): boolean {
  return isErrorWithCode(
    error,
    ...[
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'CONNECTION_CLOSED',
      'CONNECTION_ENDED',
      'CONNECTION_DESTROYED',
    ],
    ...['57P01', '57P02', '57P03', 'CONNECT_TIMEOUT'],
  );
}
