import { execFile } from 'node:child_process';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `bin` in package.json names: the program that users run. */
export const BINARY = join(ROOT, 'dist', 'main.js');

/** Before the tests of a project: `npm ci` builds it; whoever changed the sources since gets them built here. */
export default async function ensureBuilt(): Promise<void> {
  if (!(await isCurrent())) await build();
}

async function build(): Promise<void> {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    // As `npm run build` does, but without the types, which `npm run typecheck` checks: they take most of the time.
    await promisify(execFile)(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], {
      cwd: ROOT,
    });
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
