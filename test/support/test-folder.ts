import { access, constants, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * In memory, where the system has such a folder with room: PostgreSQL makes and removes a dozen files in each run of a
 * stream, and ext4 takes longer for that the more files were removed lately. A container usually has 64 MB of it.
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

/** Where the data of PostgreSQL servers of the tests can lie. */
export const TEST_FOLDERS = [MEMORY, tmpdir()] as const;

/** A folder for one test, or one server of a test run; whoever makes it removes it. */
export async function makeTestFolder(name: string): Promise<string> {
  const [memory, disk] = TEST_FOLDERS;
  return await mkdtemp(join((await isUsable(memory)) ? memory : disk, name));
}
