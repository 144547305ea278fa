import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeCoordinator, onServer } from './citus-nodes.ts';
import { acquireEmbeddedServer } from '../../src/embedded/server.ts';
import { withTimeout } from '../../src/shared/time.ts';
import { makeTestFolder, TEST_FOLDERS } from './test-folder.ts';

/** Of any user. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

type Environment = NodeJS.ProcessEnv;

/** A PostgreSQL server where tests may create databases. */
interface PostgresServer {
  readonly url: string;
  /** One line for the person at the terminal. */
  readonly description: string;
  stop(): Promise<void>;
}

const DOCKER_RESPONSE_MS = 5_000;
const CONTAINER_START_MS = 120_000;
const TEMP_PREFIX = 'safety-sync-test-';

/** The configured server, else a container, else the embedded server. */
export async function providePostgresServer(
  env: Environment,
  say: (line: string) => void,
): Promise<PostgresServer> {
  const named = env['TEST_DATABASE_URL'];
  if (named !== undefined && named !== '') {
    return { url: named, description: 'the server of TEST_DATABASE_URL', stop: () => Promise.resolve() };
  }
  try {
    return await startImage(env, env['TEST_POSTGRES_IMAGE'] ?? 'postgres:18-alpine');
  } catch (error) {
    say(`no PostgreSQL container: ${firstLine(error)}`);
  }
  return startEmbedded();
}

async function startImage(env: Environment, image: string): Promise<PostgresServer> {
  if (!mayHaveDocker(env)) throw new Error('no Docker engine on this machine');
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const { getContainerRuntimeClient } = await import('testcontainers');
  // A client or socket may exist without an engine that responds.
  const { inTime } = await withTimeout(getContainerRuntimeClient(), DOCKER_RESPONSE_MS);
  if (!inTime) throw new Error('the Docker engine does not answer');
  const starting = new PostgreSqlContainer(image)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=200'])
    .start();
  const started = await withTimeout(starting, CONTAINER_START_MS);
  if (!started.inTime) throw new Error(`${image} did not start in time`);
  const { value: container } = started;
  return {
    url: container.getConnectionUri(),
    description: `a container of ${image}`,
    stop: () => container.stop().then(() => undefined),
  };
}

/** The configured coordinator, else a container that is coordinator and node in one; else none, with a message. */
export async function provideCoordinator(
  env: Environment,
  say: (line: string) => void,
): Promise<PostgresServer | undefined> {
  const named = env['TEST_CITUS_URL'];
  if (named !== undefined && named !== '') {
    return { url: named, description: 'the coordinator of TEST_CITUS_URL', stop: () => Promise.resolve() };
  }
  try {
    const server = await startImage(env, env['TEST_CITUS_IMAGE'] ?? 'citusdata/citus:13.2.0');
    await makeCoordinator(server.url);
    return server;
  } catch (error) {
    say(
      `skipped, because TEST_CITUS_URL names no coordinator, and there is no container: ${firstLine(error)}`,
    );
    return undefined;
  }
}

async function startEmbedded(): Promise<PostgresServer> {
  for (const folder of TEST_FOLDERS) await removeLeftovers(folder);
  const dataDir = await makeTestFolder(`${TEMP_PREFIX}${process.pid}-`);
  const remove = (): Promise<void> => rm(dataDir, { recursive: true, force: true });
  try {
    const server = await acquireEmbeddedServer({
      dataDir,
      database: 'postgres',
      // Durability is off, because no test data has to survive a crash.
      postgresOptions: {
        fsync: 'off',
        full_page_writes: 'off',
        synchronous_commit: 'off',
        autovacuum: 'off',
        jit: 'off',
        max_connections: '200',
        wal_level: 'minimal',
        max_wal_senders: '0',
        max_wal_size: '256MB',
        // The kernel copies the files of a database that is cloned.
        file_copy_method: 'clone',
      },
    });
    await makeSignInCheap(server.url);
    return {
      url: server.url,
      description: `the embedded server in ${dataDir}`,
      stop: async () => {
        await server.release();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** One round of password hashing instead of 4096, because tests sign in thousands of times. */
async function makeSignInCheap(url: string): Promise<void> {
  const { username, password } = new URL(url);
  await onServer(url, async (sql) => {
    await sql`set scram_iterations = 1`;
    await sql.unsafe(`alter user ${username} password '${password}'`);
  });
}

/** Folders of killed test runs; a server that still runs in one notices within a minute and ends. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = new RegExp(`^${TEMP_PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) {
      await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

/** Places of a Docker engine. A client library that looks for one takes longer than the rest to load. */
const mayHaveDocker = ({ DOCKER_HOST, XDG_RUNTIME_DIR = '/run/user/none' }: Environment): boolean =>
  DOCKER_HOST !== undefined ||
  [
    '/var/run/docker.sock',
    join(XDG_RUNTIME_DIR, 'docker.sock'),
    join(homedir(), '.docker/run/docker.sock'),
  ].some((path) => existsSync(path));

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.split('\n')[0] ?? text;
}
