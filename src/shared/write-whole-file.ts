/** Replaces a file as a whole or not at all: a process that has the old file open keeps its content. */
import { randomBytes } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ErrorCode, SafetySyncError } from './errors.ts';

/** Read permission for the owner only, because most files contain names of people; the owner may grant more. */
const FOR_OWNER = 0o600;

const NAME_ANOTHER = 'Name a file in a directory where this user may write.';

/** Errors: `code`; `report_unwritable` on a full disk. Chunks are pulled as they are written. */
export async function writeWholeFile(
  path: string,
  content: string | Uint8Array | AsyncIterable<string | Uint8Array>,
  code: ErrorCode = 'usage_invalid',
): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  // Not the process id: in containers it is always the same one, and the file of a killed process would be in the way.
  const draft = `${target}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const found = await stat(target).catch(() => undefined);
    // A device or a pipe is written in place, not replaced.
    if (found !== undefined && !found.isFile()) {
      await writeFile(target, content);
      return;
    }
    await writeFile(draft, content, { flag: 'wx', mode: FOR_OWNER });
    await rename(draft, target);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => undefined);
    const { code: reason = '', syscall } = cause as NodeJS.ErrnoException;
    // An error of the source of the content.
    if (syscall === undefined) throw cause;
    const isFull = reason === 'ENOSPC' || reason === 'EDQUOT';
    throw new SafetySyncError(isFull ? 'report_unwritable' : code, `cannot write ${path} (${reason})`, {
      advice: isFull ? 'Free some space.' : code === 'usage_invalid' ? NAME_ANOTHER : undefined,
      cause,
    });
  }
}
