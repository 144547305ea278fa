/**
 * Builds unless the build is newer than every source, because npm runs `prepare` after `npm ci` and again at the first `npx
 * safety-sync` of a checkout.
 */
import { readdirSync, statSync } from 'node:fs';
import { exit, stderr } from 'node:process';
import { fileURLToPath, URL } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const modifiedMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs;

const sources = readdirSync(at('src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`);
const inputs = [
  ...sources,
  ...['package-lock.json', 'tsconfig.json', '.ci/build.mjs', '.ci/undici.mjs'].map(at),
];
const builtMs = modifiedMs(at('dist/main.js'));
if (builtMs === undefined || inputs.some((path) => (modifiedMs(path) ?? 0) > builtMs)) {
  try {
    await import('./build.mjs');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    // NODE_ENV=production and --omit=dev leave it out. Only a checkout is built; the package of npm is built already.
    stderr.write(
      'safety-sync is built with its development packages; install them, too: npm ci --include=dev\n',
    );
    exit(1);
  }
}
