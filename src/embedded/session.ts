/** A database session for the embedded server's administration; independent of the warehouse. */
import postgres from 'postgres';
import { SafetySyncError } from '../shared/errors.ts';

export interface Session {
  /** Runs one statement as text. */
  query<Row>(text: string, parameters?: readonly string[]): Promise<Row[]>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 5;

export function openSession(url: string, applicationName: string): Session {
  const client = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    // The connection is not recycled, because its session holds a lock.
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: applicationName },
  });
  return {
    async query<Row>(text: string, parameters: readonly string[] = []) {
      try {
        return (await client.unsafe(text, [...parameters])) as unknown as Row[];
      } catch (cause) {
        const message = cause instanceof Error ? cause.message : String(cause);
        throw new SafetySyncError('database_error', `PostgreSQL: ${message}`, { cause });
      }
    },
    close: () => client.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}

/** SQLSTATE of a failed statement, or the error code of the system or the driver. */
export function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return String((cause as { code?: unknown } | undefined)?.code);
}
