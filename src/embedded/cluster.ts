import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmbeddedAccount } from './account.ts';
import { isErrorWithCode, unavailable } from './process.ts';

export const EMBEDDED_SUPERUSER = 'safety_sync';

export type ClusterLayout = Readonly<ReturnType<typeof clusterLayout>>;

/**
 * The layout of the data directory: `cluster/data` (PostgreSQL's files), `cluster/password`, `server.log`, `lib` (links to
 * libraries that the package lacks).
 */
export function clusterLayout(dataDir: string) {
  const clusterDir = join(dataDir, 'cluster');
  return {
    dataDir,
    clusterDir,
    pgData: join(clusterDir, 'data'),
    passwordFile: join(clusterDir, 'password'),
    logFile: join(dataDir, 'server.log'),
    libraryDir: join(dataDir, 'lib'),
  };
}

interface CreateClusterOptions {
  readonly layout: ClusterLayout;
  readonly initdb: string;
  readonly account: EmbeddedAccount;
  readonly durable: boolean;
}

/**
 * Creates the cluster if it does not exist. It is built under a temporary name and renamed when complete, so that a crash,
 * or two processes that start at once, never leave half a cluster.
 */
export async function ensureCluster(options: CreateClusterOptions): Promise<void> {
  const { layout, account } = options;
  const { dataDir, clusterDir } = layout;
  const major = await readClusterMajor(layout);
  if (major !== undefined) {
    if (major === account.postgresMajor) return;
    throw unavailable(
      `${dataDir} was written by PostgreSQL ${major}, the embedded one is ${account.postgresMajor}: ` +
        `move ${dataDir} away and sync again, or serve it with PostgreSQL ${major} and set DATABASE_URL`,
    );
  }
  const buildDir = join(dataDir, `cluster-build-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    await buildCluster(buildDir, options);
    await rename(buildDir, clusterDir).catch((error: unknown) => {
      // Another process has created the cluster; that one is used.
      if (!isErrorWithCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    });
  } finally {
    await rm(buildDir, { recursive: true, force: true });
  }
}

async function buildCluster(buildDir: string, options: CreateClusterOptions): Promise<void> {
  const { owner } = options.account;
  const passwordFile = join(buildDir, 'password');
  const pgData = join(buildDir, 'data');
  await mkdir(pgData, { recursive: true, mode: 0o700 });
  await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  for (const path of [buildDir, pgData, passwordFile]) {
    if (owner !== undefined) await chown(path, owner.uid, owner.gid);
  }
  await chmod(buildDir, 0o700);
  await options.account.run(options.initdb, [
    `--pgdata=${pgData}`,
    `--username=${EMBEDDED_SUPERUSER}`,
    // Any local user can connect to a loopback port, so a password is required.
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    // Sorts by code point, which is equal on all machines and needs neither ICU nor system locales.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(options.durable ? [] : ['--no-sync']),
  ]);
}

export const adviceForFiles = (dataDir: string): string =>
  `If its files are corrupt, move ${dataDir} away and sync again: histories and rows that the source has deleted are lost.`;

const missingFile = (path: string, dataDir: string): Error =>
  unavailable(`The embedded PostgreSQL cannot use its data: ${path} is missing or empty`, {
    advice: adviceForFiles(dataDir),
  });

/** undefined: there is no such file. */
async function readIfThere(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    if (isErrorWithCode(cause, 'ENOENT')) return undefined;
    throw unavailable(`${path} cannot be read: the embedded PostgreSQL belongs to the user who created it`, {
      cause,
    });
  });
}

export async function readClusterPassword({ passwordFile, dataDir }: ClusterLayout): Promise<string> {
  const password = (await readIfThere(passwordFile))?.trim() ?? '';
  if (password === '') throw missingFile(passwordFile, dataDir);
  return password;
}

async function readClusterMajor({ pgData, dataDir }: ClusterLayout): Promise<number | undefined> {
  const file = join(pgData, 'PG_VERSION');
  const text = await readIfThere(file);
  const major = Number.parseInt(text ?? '', 10);
  if (text !== undefined && Number.isNaN(major)) throw missingFile(file, dataDir);
  return text === undefined ? undefined : major;
}
