import { mkdir, readFile, realpath } from 'node:fs/promises';
import { SafetySyncError } from '../shared/errors.ts';
import { sleep } from '../shared/time.ts';
import { chooseEmbeddedAccount } from './account.ts';
import { linkMissingLibraries, locateEmbeddedBinaries } from './binaries.ts';
import {
  adviceForFiles,
  clusterLayout,
  EMBEDDED_SUPERUSER,
  ensureCluster,
  readClusterPassword,
  type ClusterLayout,
} from './cluster.ts';
import {
  findPostmaster,
  type Postmaster,
  START_TIMEOUT_MS,
  startPostmaster,
  stopPostmaster,
} from './postmaster.ts';
import { isErrorWithCode } from './process.ts';
import { closeSession, isFromServer, openAdminSession, register } from './session.ts';

/** The warehouse without DATABASE_URL: a real PostgreSQL server that belongs to a directory and is shared by processes. */
export interface EmbeddedServer {
  /** `postgres://user:password@127.0.0.1:port/database` */
  readonly url: string;
  /** The server was already running. */
  readonly joined: boolean;
  readonly urlOf: (database: string) => string;
  /** Unregisters, and stops the server if no other process uses it. Close all connections first. */
  release(): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

interface EmbeddedServerOptions {
  readonly dataDir: string;
  /** Created when missing. */
  readonly database: string;
  /** Settings of postgresql.conf; used only by the process that starts the server. */
  readonly postgresOptions?: Settings;
}

const START_ATTEMPTS = 5;
const POLL_MS = 20;

/** Errors: `embedded_unavailable`, `database_unreachable`, `database_error`. */
export async function acquireEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  try {
    return await acquire(options);
  } catch (cause) {
    if (cause instanceof SafetySyncError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (isFromServer(cause)) throw new SafetySyncError('database_error', `PostgreSQL: ${reason}`, { cause });
    throw new SafetySyncError(
      'embedded_unavailable',
      `The embedded PostgreSQL in ${options.dataDir} failed: ${reason}`,
      {
        cause,
        advice:
          'Its data lies below the working directory: start in one that this user may write to, or (not for the demo) set DATABASE_URL.',
      },
    );
  }
}

async function acquire(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  await mkdir(options.dataDir, { recursive: true });
  // Resolves symbolic links, because PostgreSQL's lock and the checks here compare paths.
  const layout = clusterLayout(await realpath(options.dataDir));
  const { unregister, urlOf, joined } = await joinOrStart(layout, options.postgresOptions ?? {});
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= unregister(() => stopServer(layout)));
  try {
    await ensureDatabase(urlOf('postgres'), options.database);
    return { url: urlOf(options.database), joined, urlOf, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Needs no lock: `postmaster.pid` admits one server, so if several processes start one, the others fail and join it. */
async function joinOrStart(layout: ClusterLayout, settings: Settings) {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let joined = true;
  for (let attempts = 0; attempts <= START_ATTEMPTS && performance.now() < deadline;) {
    const found = await findPostmaster(layout.pgData);
    if (typeof found === 'object') {
      const urlOf = await urlBuilder(layout, found);
      const unregister = await register(urlOf('postgres'));
      if (unregister !== undefined) return { unregister, urlOf, joined };
    } else if (found === undefined) {
      attempts += 1;
      if (attempts <= START_ATTEMPTS) joined = !(await startServer(layout, settings));
    }
    await sleep(POLL_MS);
  }
  throw new SafetySyncError('database_unreachable', await explainFailedStart(layout), {
    advice: adviceForFiles(layout.dataDir),
  });
}

/** False: it failed, or another process has started one. */
async function startServer(layout: ClusterLayout, settings: Settings): Promise<boolean> {
  const { postgres, initdb, pgCtl, packageDir } = locateEmbeddedBinaries();
  const libraryPath = await linkMissingLibraries(packageDir, layout.libraryDir);
  const account = await chooseEmbeddedAccount({ ...layout, postgres, libraryPath });
  await ensureCluster({ layout, initdb, account, durable: settings['fsync'] !== 'off' });
  // Without it the server is of no use.
  await readClusterPassword(layout);
  return await startPostmaster(layout, pgCtl, account, settings).then(
    () => true,
    () => false,
  );
}

async function stopServer(layout: ClusterLayout): Promise<void> {
  const found = await findPostmaster(layout.pgData);
  if (typeof found === 'object') await stopPostmaster(layout.pgData, found.pid);
}

async function urlBuilder(layout: ClusterLayout, { port }: Postmaster): Promise<EmbeddedServer['urlOf']> {
  const password = await readClusterPassword(layout);
  return (database) =>
    `postgres://${EMBEDDED_SUPERUSER}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

async function ensureDatabase(adminUrl: string, database: string): Promise<void> {
  const session = openAdminSession(adminUrl, 'safety-sync');
  try {
    const known = await session.unsafe('select 1 from pg_database where datname = $1', [database]);
    if (known.length === 0) await session.unsafe(`create database "${database.replaceAll('"', '""')}"`);
  } catch (error) {
    // duplicate_database, or a violation of its unique index: another process has just created it.
    if (!isErrorWithCode(error, '42P04', '23505')) throw error;
  } finally {
    await closeSession(session);
  }
}

async function explainFailedStart(layout: ClusterLayout): Promise<string> {
  const log = await readFile(layout.logFile, 'utf8').catch(() => '');
  const lines = log.trimEnd().split('\n').slice(-10);
  const reasons = lines.filter((line) => !line.includes(' LOG: '));
  const shown = (reasons.length > 0 ? reasons : lines).slice(-5).join('\n');
  return `The embedded PostgreSQL did not start; the end of ${layout.logFile}:\n${shown}`;
}
