import { execFile } from 'node:child_process';
import { chown, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MINUTE_MS, SECOND_MS, sleep } from '../shared/time.ts';
import type { EmbeddedAccount } from './account.ts';
import type { ClusterLayout } from './cluster.ts';
import { isErrorWithCode } from './process.ts';

/** The running server as recorded in PostgreSQL's `postmaster.pid`, which also prevents a second server. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

/** Includes recovery after a crash. */
export const START_TIMEOUT_MS = 2 * MINUTE_MS;
const LOG_KEPT_BYTES = 4 * 1024 * 1024;
const STOP_TIMEOUT_MS = 30 * SECOND_MS;
const POLL_MS = 20;

/** Undefined when no server runs. `starting`: the port is not written yet. */
export async function findPostmaster(pgData: string): Promise<Postmaster | 'starting' | undefined> {
  const text = await readPidFile(pgData);
  if (text === undefined) return undefined;
  const [pid = '', , , port = ''] = text.split('\n');
  if (!(await isPostmasterOf(Number(pid), pgData))) {
    await removeStalePidFile(pgData, text);
    return undefined;
  }
  return port === '' ? 'starting' : { pid: Number(pid), port: Number(port) };
}

/** Returns when the server accepts connections. It is a session of its own, so Ctrl-C in the terminal does not stop it. */
export async function startPostmaster(
  { pgData, logFile }: ClusterLayout,
  pgCtl: string,
  account: EmbeddedAccount,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const all = {
    timezone: 'UTC',
    ...settings,
    listen_addresses: '127.0.0.1',
    port: String(await pickFreePort()),
    // Unix sockets are disabled: they are not needed, and their paths are limited to 107 bytes.
    unix_socket_directories: '',
  };
  const options = Object.entries(all).map(([name, value]) => `-c '${name}=${value}'`);
  await openLog(logFile, account);
  await account.run(pgCtl, [
    ...['start', '-s', '-w', '-t', String(START_TIMEOUT_MS / SECOND_MS)],
    ...['-D', pgData, '-l', logFile, '-o', options.join(' ')],
  ]);
}

/** Ends all sessions, writes all data and waits until the data directory is released. */
export async function stopPostmaster(pgData: string, pid: number): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (isErrorWithCode(error, 'ESRCH')) return;
      throw error;
    }
    // Not checked by the pid: a zombie process still counts as alive.
    const deadline = performance.now() + STOP_TIMEOUT_MS;
    while (performance.now() < deadline) {
      const text = await readPidFile(pgData);
      if (text?.split('\n')[0] !== String(pid) || !(await isPostmasterOf(pid, pgData))) return;
      await sleep(POLL_MS);
    }
  }
}

async function readPidFile(pgData: string): Promise<string | undefined> {
  return readFile(join(pgData, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (isErrorWithCode(error, 'ENOENT')) return undefined;
    throw error;
  });
}

/**
 * Removes a stale pid file. PostgreSQL itself replaces the file of a dead process, but refuses to start when the pid now
 * belongs to another process, or when a power failure left the file empty.
 */
async function removeStalePidFile(pgData: string, text: string): Promise<void> {
  const file = join(pgData, 'postmaster.pid');
  if (text.trim() === '') {
    // A starting server creates the file a moment before it writes it.
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Math.abs(Date.now() - mtimeMs) < 5 * SECOND_MS) return;
  }
  // Another process may have started a server meanwhile.
  if ((await readPidFile(pgData)) === text) await rm(file, { force: true });
}

async function isPostmasterOf(pid: number, pgData: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(pgData);
  const shown = promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]);
  return (await shown.catch(() => ({ stdout: '' }))).stdout.includes(pgData);
}

/** Another program may take the port before PostgreSQL does; the start then fails, and the next one picks another port. */
async function pickFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port for a loopback listener');
  return address.port;
}

/** The account writes the log, into a directory that may belong to root. */
async function openLog(file: string, { owner }: EmbeddedAccount): Promise<void> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > LOG_KEPT_BYTES) await rename(file, `${file}.old`);
  await (await open(file, 'a', 0o640)).close();
  if (owner !== undefined) await chown(file, owner.uid, owner.gid);
}
