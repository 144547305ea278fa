import type { ChildProcess } from 'node:child_process';
import { mkdir, readFile, realpath } from 'node:fs/promises';
import { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS, sleep } from '../shared/time.ts';
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
import { findPostmaster, spawnPostmaster, stopPostmaster, type Postmaster } from './postmaster.ts';
import { childExit, isErrorWithCode, isRunning } from './process.ts';
import { register } from './registration.ts';
import { closeSession, isFromServer, openAdminSession } from './session.ts';

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

interface EmbeddedServerOptions {
  readonly dataDir: string;
  /** Created when missing. */
  readonly database: string;
  /** Settings of postgresql.conf; used only by the process that starts the server. */
  readonly postgresOptions?: Readonly<Record<string, string>>;
}

/** Includes recovery after a crash. */
const START_TIMEOUT_MS = 2 * MINUTE_MS;
const START_ATTEMPTS = 5;
const POLL_MS = 20;

const UNWRITABLE = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOENT', 'ENOTDIR', 'EEXIST'];
const UNWRITABLE_ADVICE =
  'Its data lies below the working directory: start in one that this user may write to, or (not for the demo) set DATABASE_URL.';

/** Errors: `embedded_unavailable`, `database_unreachable`, `database_error`. */
export async function acquireEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  try {
    return await acquire(options);
  } catch (cause) {
    if (cause instanceof SafetySyncError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (isFromServer(cause)) throw new SafetySyncError('database_error', `PostgreSQL: ${reason}`, { cause });
    const isUnwritable = isErrorWithCode(cause, ...UNWRITABLE);
    throw new SafetySyncError(
      'embedded_unavailable',
      isUnwritable
        ? `The embedded PostgreSQL cannot keep its data in ${options.dataDir}: ${reason}`
        : `The embedded PostgreSQL in ${options.dataDir} failed: ${reason}`,
      { cause, advice: isUnwritable ? UNWRITABLE_ADVICE : undefined },
    );
  }
}

async function acquire(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  await mkdir(options.dataDir, { recursive: true });
  // Resolves symbolic links, because PostgreSQL's lock and the checks here compare paths.
  const layout = clusterLayout(await realpath(options.dataDir));
  const { unregister, urlOf, child } = await joinOrStart(layout, options.postgresOptions ?? {});
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= unregister(() => stopServer(layout, child)));
  try {
    await ensureDatabase(urlOf('postgres'), options.database);
    return { url: urlOf(options.database), joined: child === undefined, urlOf, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Needs no lock: `postmaster.pid` admits one server, so if several processes start one, the others fail and join it. */
async function joinOrStart(layout: ClusterLayout, settings: Readonly<Record<string, string>>) {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let child: ChildProcess | undefined;
  let attempts = 0;
  try {
    while (performance.now() < deadline) {
      const found = await findPostmaster(layout.pgData);
      if (typeof found === 'object') {
        const urlOf = await urlBuilder(layout, found);
        const unregister = await register(urlOf('postgres'));
        if (unregister !== undefined) {
          const own = child?.pid === found.pid ? child : undefined;
          if (own !== undefined) child = undefined;
          return {
            unregister,
            urlOf,
            /** The server's process, if this process started it. */
            child: own,
          };
        }
      } else if (found === undefined && !isRunning(child)) {
        if (attempts === START_ATTEMPTS) break;
        attempts += 1;
        child = await startServer(layout, settings);
      }
      await sleep(POLL_MS);
    }
    throw new SafetySyncError('database_unreachable', await explainFailedStart(layout), {
      advice: adviceForFiles(layout.dataDir),
    });
  } finally {
    // If another process has started the server, this child has to end, because it could start after that server has
    // stopped.
    child?.kill('SIGINT');
    await childExit(child);
  }
}

async function startServer(
  layout: ClusterLayout,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const { postgres, initdb, packageDir } = locateEmbeddedBinaries();
  const libraryPath = await linkMissingLibraries(packageDir, layout.libraryDir);
  const account = await chooseEmbeddedAccount({ ...layout, postgres, libraryPath });
  await ensureCluster({ layout, initdb, account, durable: settings['fsync'] !== 'off' });
  return spawnPostmaster({ layout, postgres, account, settings });
}

async function stopServer(layout: ClusterLayout, child: ChildProcess | undefined): Promise<void> {
  const found = await findPostmaster(layout.pgData);
  if (typeof found !== 'object') return;
  await stopPostmaster(layout.pgData, found.pid);
  if (child?.pid === found.pid) await childExit(child);
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
