import { access, constants, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Uses memory, if the system has such a folder with enough space: PostgreSQL creates and removes a dozen files per run of a
 * stream, and ext4 slows down with the number of recently removed files. A container usually has 64 MB of it.
 */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 2 ** 31;

async function isUsable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize > NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** Directories that may hold the data of the tests' PostgreSQL servers. */
export const TEST_FOLDERS = [MEMORY, tmpdir()] as const;

/** A folder for one test, or for one server of a test run; the caller removes it. */
export async function makeTestFolder(name: string): Promise<string> {
  const [memory, disk] = TEST_FOLDERS;
  return await mkdtemp(join((await isUsable(memory)) ? memory : disk, name));
}
