/** The only file that knows postgres.js: everything else gets a drizzle handle or a `StreamSession`. */
import { once } from 'node:events';
import net from 'node:net';
import { finished } from 'node:stream/promises';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { SECOND_MS } from '../shared/time.ts';
import { toDatabaseError } from './database-error.ts';

export type Database = PostgresJsDatabase;
/** The handle inside `transaction`. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];
/** What reads and writes control tables take: a database or a transaction of it. */
export type Queryable = Pick<
  Database,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | 'execute'
>;

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Connections at most. */
  readonly max: number;
}

export interface Connection {
  readonly db: Database;
  /** Runs one statement as text; parameters and results are text, numbers, booleans or null. */
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** `copy … from stdin`: sends the chunks, resolves when PostgreSQL has taken them. */
  copy(statement: string, chunks: Iterable<string>): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_SECONDS = 10;
const CLOSE_TIMEOUT_SECONDS = 5;

/** postgres.js leaves Nagle's algorithm on: small COPYs then wait some 40 ms each for an acknowledgement. */
async function connectSocket(options: postgres.ParsedOptions): Promise<net.Socket> {
  const path = (options as { path?: string | false }).path;
  const host = options.host[0] ?? 'localhost';
  const port = options.port[0] ?? 5432;
  const socket =
    typeof path === 'string'
      ? net.connect({ path })
      : net.connect({ host, port, noDelay: true, keepAlive: true });
  const timer = setTimeout(() => {
    socket.destroy(Object.assign(new Error(`no connection to ${host}:${port}`), { code: 'CONNECT_TIMEOUT' }));
  }, CONNECT_TIMEOUT_SECONDS * SECOND_MS);
  try {
    await once(socket, 'connect');
  } finally {
    clearTimeout(timer);
  }
  // postgres.js reads the TLS server name from here when it upgrades the socket.
  return Object.assign(socket, { host, port });
}

export function openConnection(options: ConnectionOptions): Connection {
  const client = postgres(options.url, {
    max: options.max,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    idle_timeout: options.max === 1 ? 0 : 30,
    // A session that holds a lock must not be recycled under it.
    max_lifetime: options.max === 1 ? null : 30 * 60,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: options.applicationName },
    ...({ socket: connectSocket } as object),
  });
  const db = drizzle(client);

  return {
    db,
    async query<Row>(text: string, parameters: readonly unknown[] = []) {
      try {
        return (await client.unsafe(text, parameters as never[], { prepare: true })) as unknown as Row[];
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    async copy(statement, chunks) {
      try {
        const sink = await client.unsafe(statement).writable();
        const done = finished(sink);
        for (const chunk of chunks) {
          if (!sink.write(chunk)) await Promise.race([once(sink, 'drain'), done]);
        }
        sink.end();
        await done;
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    close: () => client.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}
