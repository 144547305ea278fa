import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { hash } from 'node:crypto';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LOCK = join(tmpdir(), `safety-sync-build-${hash('sha256', ROOT, 'hex').slice(0, 16)}`);
const PATIENCE_MS = 120_000;
const POLL_MS = 50;

/** What `bin` in package.json names: the program that users run. */
export const BINARY = join(ROOT, 'dist', 'main.js');

/** `npm ci` builds it; whoever changed the sources since gets them built here, once for all test files. */
export async function ensureBuilt(): Promise<void> {
  if (await isCurrent()) return;
  await withLock(async () => {
    if (!(await isCurrent())) await build();
  });
}

async function build(): Promise<void> {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    await promisify(execFile)(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: ROOT });
  } catch (error) {
    // What was written all the same must not pass for a build.
    await rm(BINARY, { force: true });
    throw new Error(`npm run build fails:\n${(error as { stdout: string }).stdout}`, { cause: error });
  }
}

async function isCurrent(): Promise<boolean> {
  const built = await modifiedMs(BINARY);
  if (built === undefined) return false;
  const names = await readdir(join(ROOT, 'src'), { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => join(ROOT, 'src', name));
  const inputs = [...sources, join(ROOT, 'tsconfig.json'), join(ROOT, 'tsconfig.build.json')];
  const times = await Promise.all(inputs.map(modifiedMs));
  return times.every((time) => (time ?? 0) <= built);
}

async function modifiedMs(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs;
}

/** A directory is the lock: making it succeeds for one process only. */
async function withLock(work: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  const ownerFile = join(LOCK, 'pid');
  for (;;) {
    try {
      await mkdir(LOCK);
      break;
    } catch {
      if (performance.now() > deadline)
        throw new Error(`another test run has been building since long: ${LOCK}`);
      const owner = Number(await readFile(ownerFile, 'utf8').catch(() => ''));
      if (owner > 0 && !isAlive(owner)) await rm(LOCK, { recursive: true, force: true });
      await delay(POLL_MS);
    }
  }
  try {
    await writeFile(ownerFile, String(process.pid));
    await work();
  } finally {
    await rm(LOCK, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
