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

/** The running server, as PostgreSQL itself notes it in `postmaster.pid`, which is also its lock against a second. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

const LOG_KEPT_BYTES = 4 * 1024 * 1024;
const STOP_PATIENCE_MS = 30 * SECOND_MS;
const POLL_MS = 20;

/** Undefined when none runs. `starting`: one runs, but its port is not written yet. */
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

/** Starts and does not wait: whether it came up, lost against another one or failed is seen in `postmaster.pid`. */
export async function spawnPostmaster(options: StartPostmasterOptions): Promise<ChildProcess> {
  const { layout, account } = options;
  const settings: Readonly<Record<string, string>> = {
    timezone: 'UTC',
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(await pickFreePort()),
    // Their path may be at most 107 bytes long, and nobody needs them.
    unix_socket_directories: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = await openLog(layout.logFile);
  try {
    const child = account.spawnDetached(options.postgres, ['-D', layout.pgData, ...args], log.fd);
    child.on('error', () => undefined); // is seen as a child without pid
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/** Ends all its sessions, writes everything down and waits until the data directory is free again. */
export async function stopPostmaster(pgData: string, pid: number): Promise<void> {
  let signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT';
  for (;;) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (isErrorWithCode(error, 'ESRCH')) return;
      throw error;
    }
    // Not by the pid: where nobody collects dead processes it stays "alive".
    const deadline = performance.now() + STOP_PATIENCE_MS;
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
 * PostgreSQL replaces the file of a dead process by itself, but refuses to start when its number now belongs to
 * another process, or when a power cut left the file empty. So a file that is surely nobody's goes away here.
 */
async function removeStalePidFile(pgData: string, text: string): Promise<void> {
  const file = join(pgData, 'postmaster.pid');
  if (text.trim() === '') {
    // A server that is starting creates the file a moment before it fills it.
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
  // Another process may have cleared up and started within this very moment: then that file is put back.
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

/** Someone else may take it before PostgreSQL does; then that start fails and the next one asks again. */
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
