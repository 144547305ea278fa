/** Replaces a file as a whole or not at all: a process that has the old file open keeps its content. */
import { randomBytes } from 'node:crypto';
import { lstat, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { SafetySyncError } from './errors.ts';

/** Advice for an operator, by the system's code. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist; make it first, or name another one',
  ENOTDIR: 'a part of the path is no directory; name another one',
  EACCES: 'this user may not write there; name another path',
  EPERM: 'this user may not write there; name another path',
  EROFS: 'the file system is read-only; name another path',
  EISDIR: 'it is a directory; name a file in it',
};
/** The command is right, but the file system cannot take the content now. */
const FULL: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
};

/** Read permission for the owner only, because most files contain names of people; the owner may grant more. */
const FOR_OWNER = 0o600;

type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/** Errors: `usage_invalid`; `report_unwritable` on a full disk. Chunks are pulled as they are written. */
export async function writeWholeFile(path: string, content: FileContent): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  // Not the process id: in containers it is always the same one, and the file of a killed process would be in the way.
  const draft = `${target}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const found = await lstat(target).catch(() => undefined);
    if (found?.isDirectory()) throw Object.assign(new Error('a directory'), { code: 'EISDIR' });
    // A device or a pipe is written in place, not replaced.
    if (found !== undefined && !found.isFile()) {
      await writeFile(target, content);
      return;
    }
    await writeFile(draft, content, { flag: 'wx', mode: FOR_OWNER });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    // An error of the source of the content.
    if (syscall === undefined && code !== 'EISDIR') throw error;
    const full = FULL[code];
    if (full !== undefined) {
      const advice = 'Free some space.';
      throw new SafetySyncError('report_unwritable', `cannot write ${path}: ${full}`, {
        advice,
        cause: error,
      });
    }
    const hasDirectory = await stat(dirname(target)).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const refused = `${dirname(target)} refuses it (${code}); name another path`;
    // Some directories, such as those of /proc, exist but accept no files.
    const advice = code === 'ENOENT' && hasDirectory ? refused : (ADVICE[code] ?? refused);
    throw new SafetySyncError('usage_invalid', `cannot write ${path}: ${advice}`, { cause: error });
  }
}
