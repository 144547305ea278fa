/** The only file of the warehouse that uses postgres.js: everything else gets a drizzle handle or a `StreamSession`. */
import { once } from 'node:events';
import net from 'node:net';
import { Writable } from 'node:stream';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { SECOND_MS } from '../../shared/time.ts';
import { toArrayLiteral } from './array-literal.ts';
import { ABORTED, toDatabaseError } from './database-error.ts';
import { TEXT_SETTINGS } from './session-settings.ts';
import { CANCEL, statementsUntil } from './stop-statements.ts';
import { createTurns } from './turns.ts';
import {
  type OnStatement,
  type Query,
  timeStatement,
  toRowCount,
  toStatementCode,
  watchStatements,
} from './watch-statements.ts';

export type Database = PostgresJsDatabase;
/** Functions that read and write control tables take a database or one of its transactions. */
export type Queryable = Pick<Database, 'select' | 'insert' | 'update' | 'delete' | 'execute'>;

interface ConnectionOptions {
  readonly url: string;
  /** Read at every connection; default: the one in `url`. */
  readonly password?: (() => string) | undefined;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly max: number;
  /**
   * One connection that is never replaced: with it the caller loses its locks and temporary tables, and must not continue on
   * another connection unnoticed. Its transactions begin and end by `query`, because postgres.js's own `begin` writes its
   * `rollback` to a connection that is gone: an exception that cannot be caught (porsager/postgres#1208). Needs `max` 1.
   */
  readonly isSession?: true;
  /** Called after each statement. Without it statements are not timed. */
  readonly onStatement?: OnStatement | undefined;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

export interface Connection {
  readonly db: Database;
  /** Runs one statement as text; parameters and results are text, numbers, booleans or null. */
  query<Row>(text: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /**
   * `copy … from stdin`: sends the chunks, resolves when PostgreSQL has taken them. On a session `query` and other COPYs
   * and statements through `db` wait for it.
   */
  copy(statement: string, chunks: Iterable<string | Buffer>): Promise<void>;
  /** A session's connection broke: its locks and temporary tables are gone, and nothing more can be stored over it. */
  readonly isLost: boolean;
  /** The reason why a transaction of a session was aborted, because PostgreSQL answers every later statement with 25P02 only. */
  readonly abortedBy: unknown;
  close(): Promise<void>;
}

/** The members of a connection that run statements as text. */
export type TextQueries = Pick<Connection, 'query'>;

const CONNECT_TIMEOUT_SECONDS = 10;
/**
 * The caller awaits its statements before it closes the connection, so a remaining statement was abandoned, such as a read
 * from an unreachable database.
 */
const CLOSE_TIMEOUT_SECONDS = 1;
/** Bytes (or characters) of a COPY that may wait for the network; below it the writer need not wait for a drain. */
const MOST_UNDERWAY = 2 * 1024 * 1024;

/**
 * Turns off Nagle's algorithm, which postgres.js leaves on: each small COPY would wait some 40 ms for an acknowledgement.
 * postgres.js gets the socket before it is connected, because it never gives up a connection without its `close` event.
 */
function connectSocket(options: postgres.ParsedOptions): net.Socket {
  const path = (options as { path?: string | false }).path;
  const host = options.host[0] ?? 'localhost';
  const port = options.port[0] ?? 5432;
  const socket =
    typeof path === 'string'
      ? net.connect({ path })
      : // An unreachable host is detected within minutes, not after the system's default of two hours.
        net.connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30 * SECOND_MS });
  emitErrorsWhenClosed(socket);
  // postgres.js reads the TLS server name from here when it upgrades the socket.
  return Object.assign(socket, { host, port });
}

/**
 * A statement that postgres.js receives after a socket's `error` and before its `close` never gets a result: the caller
 * waits for ever. So `error` is emitted only immediately before `close`.
 */
function emitErrorsWhenClosed(socket: net.Socket): void {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  let held: unknown[] | undefined;
  const emitLate = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event === 'error') {
      held = args;
      return true;
    }
    if (event === 'close' && held !== undefined) emit('error', ...held);
    return emit(event, ...args);
  };
  Object.assign(socket, { emit: emitLate });
}

/** The host of a URL with an IPv6 address, because postgres.js cuts every host at its first colon. */
function ipv6Of(url: string): object {
  const { hostname, port } = new URL(url);
  return hostname.startsWith('[') ? { host: [hostname.slice(1, -1)], port: [Number(port || 5432)] } : {};
}

/** Opens one real connection. Every further one fails at once, with the statement that needed it. */
function connectOnce(onLost: () => void): typeof connectSocket {
  let isUsed = false;
  return (options) => {
    if (!isUsed) {
      isUsed = true;
      const socket = connectSocket(options);
      socket.once('close', onLost);
      return socket;
    }
    const broken = new net.Socket();
    // Later, when postgres.js listens: it drops connections that were never established, together with the statements that
    // wait for them.
    setImmediate(() =>
      broken.destroy(Object.assign(new Error('the database session broke'), { code: 'CONNECTION_CLOSED' })),
    );
    return broken;
  };
}

/**
 * Begins a COPY. PostgreSQL can send an error after the last row (a duplicate key, a line that it cannot read), or before
 * postgres.js's promise has returned the stream. Such an error reaches neither of the two, only the query's own `resolve`
 * and `reject`, and an `error` event of a stream that has no listener yet.
 */
function beginCopy(query: postgres.PendingQuery<postgres.Row[]>) {
  let opened: (sink: Writable) => void = () => undefined;
  const sink = new Promise<Writable>((resolve) => (opened = resolve));
  const done = new Promise<unknown>((resolve, reject) => {
    const onResult = (value: unknown): void => {
      if (value instanceof Writable) {
        value.on('error', reject);
        opened(value);
      } else resolve(value);
    };
    void Object.assign(query, { resolve: onResult, reject });
  });
  // Never settles: the query returns the result.
  query.writable().catch(() => undefined);
  void query.execute();
  return { sink, done };
}

/** Over a connection of its own: the existing ones may all be waiting for the statements to be cancelled. */
async function cancelOver({ url, password }: ConnectionOptions, backends: readonly number[]): Promise<void> {
  const connection = openConnection({ url, password, applicationName: 'safety-sync stop', max: 1 });
  try {
    await connection.query(CANCEL, [toArrayLiteral(backends)]);
  } finally {
    await connection.close();
  }
}

export function openConnection(options: ConnectionOptions): Connection {
  let isLost = false;
  let endCopies: (error: Error) => void = () => undefined;
  /** If the connection breaks between the last row and the reply of PostgreSQL, postgres.js never ends the COPY. */
  const broken = new Promise<never>((_, reject) => (endCopies = reject));
  broken.catch(() => undefined);
  const onLoss = () => {
    isLost = true;
    endCopies(Object.assign(new Error('the database session broke'), { code: 'CONNECTION_CLOSED' }));
  };
  const connect = options.isSession === true ? connectOnce(onLoss) : connectSocket;
  const client = postgres(options.url, {
    ...ipv6Of(options.url),
    max: options.max,
    ...(options.password === undefined ? {} : { password: options.password }),
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    idle_timeout: options.max === 1 ? 0 : 30,
    // A session that holds a lock must not be recycled.
    max_lifetime: options.max === 1 ? null : 30 * 60,
    fetch_types: false,
    // Seconds before a reconnect; a session does not reconnect.
    ...(options.isSession === true ? { backoff: () => 0 } : {}),
    onnotice: () => undefined,
    connection: { application_name: options.applicationName, ...TEXT_SETTINGS },
    ...({ socket: connect } as object),
  });
  const statements = options.signal && statementsUntil(options.signal, (pids) => cancelOver(options, pids));
  let abortedBy: unknown;
  /** Called when a statement begins; the returned function is called with its result or its error. */
  const follow = (query: Query, text: string) => {
    const measure = options.onStatement && timeStatement(text, options.onStatement);
    statements?.add(query);
    return (end: { readonly result: unknown } | { readonly error: unknown }): void => {
      statements?.delete(query);
      if ('result' in end) return measure?.(toRowCount(end.result), null);
      const code = toStatementCode(end.error);
      if (code !== ABORTED) abortedBy = end.error;
      measure?.(null, code);
    };
  };
  const turns = createTurns();
  const unsafe = client.unsafe.bind(client);
  watchStatements(client, (query, text) => {
    const { handler, resolve, reject } = query;
    const end = follow(query, text);
    query.handler = (sent) => turns.take(() => handler(sent));
    query.resolve = (result) => {
      end({ result });
      resolve(result);
    };
    query.reject = (error) => {
      end({ error });
      reject(error);
    };
  });
  const copyNow = async (statement: string, chunks: Iterable<string | Buffer>): Promise<void> => {
    const query: postgres.PendingQuery<postgres.Row[]> = unsafe(statement);
    const end = follow(query as unknown as Query, statement);
    let sink: Writable | undefined;
    try {
      const begun = beginCopy(query);
      const done = Promise.race([begun.done, broken]);
      sink = await Promise.race([begun.sink, done.then(() => begun.sink)]);
      let underway = 0;
      for (const chunk of chunks) {
        underway += chunk.length;
        if (sink.write(chunk)) underway = 0;
        else if (underway > MOST_UNDERWAY) {
          await Promise.race([once(sink, 'drain'), done]);
          underway = 0;
        }
      }
      sink.end();
      end({ result: await done });
    } catch (error) {
      end({ error });
      throw error;
    } finally {
      // Otherwise postgres.js sends CopyDone after a failure, possibly into the next COPY.
      sink?.destroy();
      turns.endCopy();
    }
  };

  return {
    db: drizzle(client),
    async query<Row>(text: string, parameters: readonly unknown[] = []) {
      try {
        // Sent at once, so a later COPY follows it.
        const sent = client.unsafe(text, parameters as never[], { prepare: true }).execute();
        return (await sent) as unknown as Row[];
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    async copy(statement, chunks) {
      try {
        await turns.takeForCopy();
        await copyNow(statement, chunks);
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    get isLost() {
      return isLost;
    },
    get abortedBy() {
      return abortedBy;
    },
    // A broken connection sends no reply: do not wait for one.
    close: () => client.end({ timeout: isLost ? 0 : CLOSE_TIMEOUT_SECONDS }),
  };
}
