/** The only file of the warehouse that uses postgres.js: everything else gets a drizzle handle or a `StreamSession`. */
import type net from 'node:net';
import { Duplex, Writable } from 'node:stream';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { ignoreRejection } from '../../shared/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import { toArrayLiteral } from './array-literal.ts';
import { connectSocket, toConnectionError } from './connect-socket.ts';
import { toDatabaseError } from './database-error.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { OWN_SETTINGS, TEXT_SETTINGS } from './session-settings.ts';

export type Database = PostgresJsDatabase;
/** Functions that read and write control tables take a database or one of its transactions. */
export type Queryable = Pick<Database, 'select' | 'insert' | 'update' | 'delete' | 'execute'>;

interface ConnectionOptions {
  /** A function is called at every connection, because a password may be replaced. */
  readonly url: string | (() => string);
  /** Shown in `pg_stat_activity`; default: `safety-sync`. */
  readonly applicationName?: string;
  /** Most connections at once; default: one. */
  readonly max?: number;
  /**
   * One connection with `OWN_SETTINGS` that is never replaced: with it the caller loses its locks and temporary tables, and must
   * not continue on another connection unnoticed. Its transactions begin and end by `query`, because postgres.js's own `begin` writes its
   * `rollback` to a connection that is gone: an exception that cannot be caught.
   */
  readonly isSession?: true;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
  /**
   * A connection without traffic for this long is given up, if statements wait and its backend is not seen at work. 0:
   * never; default: a minute.
   */
  readonly silentMs?: number;
}

export type Connection = ReturnType<typeof openConnection>;
/** The members of a connection that run statements as text. */
export type TextQueries = Pick<Connection, 'query'>;

/**
 * The caller awaits its statements before it closes the connection, so a remaining statement was abandoned, such as a read
 * from an unreachable database.
 */
const CLOSE_TIMEOUT_SECONDS = 1;
/** After a stop longer statements are cancelled: a younger one may be closing the run. */
const CANCEL_AFTER_MS = SECOND_MS;

/** The least that PostgreSQL shows of a statement. */
const SHOWN_CHARACTERS = 99;
/**
 * The sessions that run the same text: a pooler tells no client the number of its backend. A backend that waits for the client is
 * not at work: its response, or our COPY, does not arrive.
 */
const IS_AT_WORK = `select from pg_stat_activity
  where usename = session_user and state = 'active' and wait_event_type is distinct from 'Client'
    and left(query, ${SHOWN_CHARACTERS}) = any ($1::text[])`;
/** They would keep their locks until the server, too, sees that the connection is gone. */
const END = `select pg_terminate_backend(pid) from pg_stat_activity where usename = session_user and pid = any ($1::int[])`;

/** The used members of a query of postgres.js. */
interface Query {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** Cancels it over a connection of its own. */
  canceller: ((query: Query) => Promise<void>) | null;
  /** The connection that executes it. */
  readonly state?: { readonly pid: number | null } | null;
}

/** What drizzle uses of a client. */
type Client = Pick<postgres.Sql, 'unsafe'>;

/** Sends a COPY with its lines. postgres.js settles its promise when it begins, so its end is taken from the query itself. */
function sendCopy(client: Client, text: string, lines: readonly (string | Buffer)[]) {
  const sent = client.unsafe(text);
  const query = sent as unknown as Query;
  const result = new Promise<void>((resolve, reject) => {
    query.reject = reject;
    query.resolve = (begun) => {
      if (!(begun instanceof Writable)) {
        resolve();
        return;
      }
      // PostgreSQL may refuse it at any moment: `reject` gets that error, too.
      begun.on('error', () => undefined);
      for (const chunk of lines) begun.write(chunk);
      begun.end();
    };
  });
  void sent.writable();
  return { query, result };
}

export function openConnection(options: ConnectionOptions) {
  const { url, max = 1, isSession = false, applicationName = 'safety-sync' } = options;
  const { silentMs = MINUTE_MS, signal } = options;
  const readAddress = () => parseDatabaseUrl(typeof url === 'function' ? url() : url);
  const address = readAddress();
  /** Statements without a response. `sinceMs`: when they were sent, by the monotonic clock. */
  const open = new Set<{ text: string; query: Query; sinceMs: number; reject: (error: Error) => void }>();
  /** Aborted when nothing is sent any more: the connection was closed, or that of a session broke. */
  const ended = new AbortController();
  const broken = toDatabaseError(toConnectionError('CONNECTION_CLOSED', 'the database connection has ended'));

  /** Called when a socket has neither sent nor received anything for `silentMs`. */
  async function onSilence(socket: net.Socket): Promise<void> {
    const waiting = [...open].filter(({ sinceMs }) => performance.now() - sinceMs > silentMs / 2);
    if (waiting.length === 0) return;
    const { bytesRead } = socket;
    const texts = toArrayLiteral(waiting.map(({ text }) => text.slice(0, SHOWN_CHARACTERS)));
    const second = openConnection({ url, silentMs: 0 });
    try {
      // A role shows nothing of the sessions of the login that has taken it.
      await second.query(`select set_config('role', 'none', false)`);
      const atWork = await second.query(IS_AT_WORK, [texts]);
      // A response may have been on its way.
      if (atWork.length > 0 || socket.bytesRead !== bytesRead) {
        socket.setTimeout(silentMs);
        return;
      }
      await second.query(END, [toArrayLiteral(waiting.flatMap(({ query }) => query.state?.pid ?? []))]);
    } catch {
      // If the second connection fails, the first counts as broken.
    } finally {
      await second.close();
    }
    const silence = `silent for ${silentMs / 1000} s, and PostgreSQL is not seen at work on it: the connection was given up`;
    socket.destroy(toConnectionError('CONNECTION_SILENT', silence));
  }

  async function connect(): Promise<Duplex> {
    try {
      // A session is never opened again: with it the caller loses its locks and temporary tables.
      ended.signal.throwIfAborted();
      const socket = await connectSocket(readAddress(), ended.signal);
      return socket.setTimeout(silentMs).on('timeout', () => void onSilence(socket));
    } catch (error) {
      // postgres.js waits for ever where it gets no socket. This one fails at the first byte.
      return new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done(error as Error) });
    }
  }

  const client = postgres({
    max,
    connect_timeout: address.connectTimeoutSeconds,
    // A session that holds a lock must not be recycled.
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    onclose: () => {
      if (!isSession) return;
      ended.abort(broken);
      // The driver loses a statement that it gets while the connection ends, and a COPY with all rows sent never ends.
      setImmediate(() => open.forEach(({ reject }) => reject(broken)));
    },
    // The types of postgres.js know neither `socket`, nor that any of these may be undefined. Lists, because it cuts a text at its first colon.
    ...({
      ...{ ...address, socket: connect, host: [address.host], port: [address.port] },
      password: address.password === undefined ? undefined : () => readAddress().password ?? '',
      connection: { application_name: applicationName, ...TEXT_SETTINGS, options: address.options },
    } as object),
  });

  /** Without this PostgreSQL would finish long statements after a stop, and keep the lock of the stream until then. */
  function cancelStatements(): void {
    if (signal?.aborted !== true) return;
    for (const { query, sinceMs } of open) {
      if (performance.now() - sinceMs < CANCEL_AFTER_MS) continue;
      query.canceller?.(query).catch(() => undefined);
      query.canceller = null;
    }
  }
  const cancelling = signal && setInterval(cancelStatements, CANCEL_AFTER_MS / 4).unref();

  /** Later statements are sent after it: the settings of a session, then the newest COPY, between whose rows one would end it. */
  let earlier: Promise<unknown> | undefined;
  async function follow<Result>(text: string, send: () => { query: Query; result: PromiseLike<Result> }) {
    await earlier;
    ended.signal.throwIfAborted();
    return await new Promise<Result>((resolve, reject) => {
      const { query, result } = send();
      const statement = { text, query, sinceMs: performance.now(), reject };
      open.add(statement);
      const refuse = (error: unknown): void => reject(toDatabaseError(error));
      void result.then(resolve, refuse).then(() => open.delete(statement));
    });
  }

  const ask = async (of: Client, request: Parameters<Client['unsafe']>, asValues = false): Promise<unknown> =>
    await follow(request[0], () => {
      const sent = of.unsafe(...request);
      return { query: sent as unknown as Query, result: asValues ? sent.values() : sent };
    });

  // Without them no statement is right, so all fail with them.
  if (isSession) earlier = ignoreRejection(ask(client, [`select ${OWN_SETTINGS}`]));

  /** The members of a client that drizzle uses. */
  const followed = (of: Client) => ({
    options: client.options,
    unsafe: (...request: Parameters<Client['unsafe']>) => ({
      values: () => ask(of, request, true),
      then: (...handlers: never[]) => ask(of, request).then(...handlers),
    }),
    begin: (work: (transaction: object) => Promise<unknown>) => client.begin((one) => work(followed(one))),
  });

  return {
    db: drizzle(followed(client) as unknown as postgres.Sql),
    /** Runs one statement as text; parameters and results are text, numbers, booleans or null, results also JSON. */
    async query<Row>(text: string, parameters: readonly unknown[] = []): Promise<Row[]> {
      return (await ask(client, [text, parameters as never[], { prepare: true }])) as Row[];
    },
    /**
     * `copy … from stdin`: sends the lines, resolves when PostgreSQL has taken them. On a session `query` and other COPYs
     * and statements through `db` wait for it.
     */
    async copy(text: string, lines: readonly (string | Buffer)[]): Promise<void> {
      const sent = follow(text, () => sendCopy(client, text, lines));
      earlier = sent.catch(() => undefined);
      await sent;
    },
    /** Aborted when a session's connection broke: its locks and temporary tables are gone, and nothing more can be stored over it. */
    lost: ended.signal,
    async close(): Promise<void> {
      // A broken connection sends no reply: do not wait for one.
      await client.end({ timeout: ended.signal.aborted ? 0 : CLOSE_TIMEOUT_SECONDS });
      ended.abort(broken);
      clearInterval(cancelling);
    },
  };
}
