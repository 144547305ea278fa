import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The `bin` of package.json: the program that users run. */
export const BINARY = join(ROOT, 'dist', 'main.js');

/** Runs before the tests of a project: `npm ci` builds the program; newer sources are built here. */
export default async function ensureBuilt(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(ROOT, '.ci', 'prepare.mjs')]);
}
