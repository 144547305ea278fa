import { execFile, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SECOND_MS, sleep } from '../shared/time.ts';
import type { EmbeddedAccount } from './account.ts';
import type { ClusterLayout } from './cluster.ts';
import { isErrorWithCode } from './process.ts';

/** The running server as recorded in PostgreSQL's `postmaster.pid`, which also prevents a second server. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

const LOG_KEPT_BYTES = 4 * 1024 * 1024;
const STOP_TIMEOUT_MS = 30 * SECOND_MS;
const POLL_MS = 20;

/** Undefined when no server runs. `starting`: the port is not written yet. */
export async function findPostmaster(pgData: string): Promise<Postmaster | 'starting' | undefined> {
  const text = await readPidFile(pgData);
  if (text === undefined) return undefined;
  const [pid, , , port] = text.split('\n');
  if (pid === undefined || pid === '' || !(await isPostmasterOf(Number(pid), pgData))) {
    await removeStalePidFile(pgData, text);
    return undefined;
  }
  return port === undefined || port === '' ? 'starting' : { pid: Number(pid), port: Number(port) };
}

interface StartPostmasterOptions {
  readonly layout: ClusterLayout;
  readonly postgres: string;
  readonly account: EmbeddedAccount;
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts the server without waiting. `postmaster.pid` shows whether it runs, failed, or lost against another one. */
export async function spawnPostmaster(options: StartPostmasterOptions): Promise<ChildProcess> {
  const { layout, account } = options;
  const settings: Readonly<Record<string, string>> = {
    timezone: 'UTC',
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(await pickFreePort()),
    // Unix sockets are disabled: they are not needed, and their paths are limited to 107 bytes.
    unix_socket_directories: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = await openLog(layout.logFile);
  try {
    const child = account.spawnDetached(options.postgres, ['-D', layout.pgData, ...args], log.fd);
    child.on('error', () => undefined); // The missing pid shows the failure
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/** Ends all sessions, writes all data and waits until the data directory is released. */
export async function stopPostmaster(pgData: string, pid: number): Promise<void> {
  let signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT';
  for (;;) {
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
    signal = 'SIGQUIT';
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
  if ((await readPidFile(pgData)) !== text) return;
  const aside = `${file}.stale-${randomBytes(4).toString('hex')}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if (isErrorWithCode(error, 'ENOENT')) return;
    throw error;
  }
  // If another process has started a server meanwhile, its file is restored.
  if ((await readFile(aside, 'utf8')) === text) await rm(aside);
  else await rename(aside, file);
}

async function isPostmasterOf(pid: number, pgData: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  return (await readCommandLine(pid)).includes(pgData);
}

async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  );
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

async function openLog(file: string): Promise<Awaited<ReturnType<typeof open>>> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > LOG_KEPT_BYTES) await rename(file, `${file}.old`);
  return open(file, 'a', 0o640);
}
