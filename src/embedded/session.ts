/** A client with one database session for the embedded server's administration; independent of the warehouse. */
import postgres, { type Sql } from 'postgres';

export type Session = Sql;

const CONNECT_TIMEOUT_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 5;

export function openAdminSession(url: string, applicationName: string): Session {
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

export const closeSession = (session: Session): Promise<void> =>
  session.end({ timeout: CLOSE_TIMEOUT_SECONDS });

export const isFromServer = (error: unknown): boolean => error instanceof postgres.PostgresError;
