import { randomBytes } from 'node:crypto';
import pRetry from 'p-retry';
import postgres from 'postgres';
import { inject, onTestFinished } from 'vitest';
import { type Connection, openConnection, type TextQueries } from '../../src/engine/database/connection.ts';
import { untilTestEnds } from './lifetime.ts';

const OBJECT_IN_USE = '55006';

/** A database for one test; databases that a test does not drop are dropped at the end of the run. */
export interface TestDatabase {
  readonly url: string;
  /** Works while sessions are connected. */
  drop(): Promise<void>;
}

/** A clone of the migrated template, or of another database of this run; takes some 30 ms. */
export async function createTestDatabase(original?: TestDatabase): Promise<TestDatabase> {
  const name =
    original === undefined
      ? `${inject('testDatabasePrefix')}template`
      : new URL(original.url).pathname.slice(1);
  return create(name);
}

/** A database for all tests of the run, made by the first that needs it, and read by clones alone. */
export async function createTestDatabaseOnce(
  key: string,
  fill: (database: TestDatabase) => Promise<void>,
): Promise<TestDatabase> {
  const server = postgres(inject('testServerUrl'), { max: 1, fetch_types: false });
  const name = `${inject('testDatabasePrefix')}once_${key}`;
  try {
    await server`select pg_advisory_lock(hashtextextended(${name}, 0))`;
    const [found] = await server<{ is_whole: boolean }[]>`
      select not datallowconn as is_whole from pg_database where datname = ${name}`;
    if (found?.is_whole === true) return handleOf(name);
    // The test that made it failed.
    if (found !== undefined) await server`drop database ${server(name)} with (force)`;
    const database = await create(`${inject('testDatabasePrefix')}template`, name);
    await fill(database);
    await server`alter database ${server(name)} with allow_connections false`;
    return database;
  } finally {
    await server.end();
  }
}

/** An empty database, as a new user has it. */
export async function createEmptyTestDatabase(): Promise<TestDatabase> {
  return create('template0');
}

type ConnectOptions = Partial<Parameters<typeof openConnection>[0]>;

const connect = (url: string, options: ConnectOptions = {}): Connection =>
  openConnection({ url, applicationName: 'test', max: 1, ...options });

/** A connection that closes at the end of the present test. */
export const connectForTest = (url: string, options?: ConnectOptions): Connection =>
  untilTestEnds(connect(url, options));

/** A role for the present test; `attributes`: what stands behind its name, such as `login password 'x'`. */
export async function createRole({ query }: TextQueries, attributes = ''): Promise<string> {
  const role = `role_${randomBytes(6).toString('hex')}`;
  await query(`create role ${role} ${attributes}`);
  onTestFinished(async () => {
    await query(`drop owned by ${role}`);
    await query(`drop role ${role}`);
  });
  return role;
}

/** A database, by default a migrated one, with a connection to it; `close` drops the database as well. */
export interface OpenDatabase extends Connection {
  readonly url: string;
}

export async function openTestDatabase(
  options: ConnectOptions = {},
  created: Promise<TestDatabase> = createTestDatabase(),
): Promise<OpenDatabase> {
  const database = await created;
  const connection = connect(database.url, options);
  const close = connection.close.bind(connection);
  return Object.assign(connection, {
    url: database.url,
    close: async () => {
      await close();
      await database.drop();
    },
  });
}

async function create(
  template: string,
  name = `${inject('testDatabasePrefix')}${randomBytes(6).toString('hex')}`,
): Promise<TestDatabase> {
  await onServer(
    (sql) =>
      sql`create database ${sql(name)} template ${sql(template)} encoding 'UTF8' ${sql.unsafe(inject('testCloneStrategy'))}`,
  );
  if (inject('testServerNodes').length > 1) {
    await onServer(async (sql) => {
      // Settings of the template by `migrate --citus` are not copied to clones.
      await sql`alter database ${sql(name)} set citus.allow_nested_distributed_execution = on`;
      // Tests make a table refuse or wait by a trigger; the product has no triggers.
      await sql`alter database ${sql(name)} set citus.enable_unsafe_triggers = on`;
    });
  }
  return handleOf(name);
}

function handleOf(name: string): TestDatabase {
  const url = new URL(inject('testServerUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () =>
      onServer((sql) =>
        // A background worker of Citus can reconnect between the end of all sessions and the drop.
        pRetry(() => sql`drop database if exists ${sql(name)} with (force)`.execute(), {
          retries: 2,
          minTimeout: 50,
          shouldRetry: ({ error }) => (error as { readonly code?: unknown }).code === OBJECT_IN_USE,
        }),
      ),
  };
}

/** All nodes, if the server is a Citus coordinator. */
let servers: readonly postgres.Sql[] | undefined;

/** One connection per test worker, because a new one for each test would take longer than the clone. */
async function onServer(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  servers ??= inject('testServerNodes').map((url) =>
    postgres(url, { max: 2, idle_timeout: 2, fetch_types: false, onnotice: () => undefined }),
  );
  await Promise.all(servers.map(work));
}
