/** Reads files of the configuration up to a size, because an endless one (/dev/zero) would take all memory. */
import { closeSync, openSync, readSync } from 'node:fs';

const KILOBYTE = 1024;
/** A secret, or another value of a variable. */
const MOST_VALUE_KB = 64;
/** Some 10,000 accounts. */
export const MOST_ACCOUNTS_KB = 8 * KILOBYTE;

/** Throws the errors of reading, and `EFBIG` for a file that holds more. */
export function readSmallFile(path: string, mostKilobytes = MOST_VALUE_KB): string {
  const file = openSync(path, 'r');
  try {
    const most = mostKilobytes * KILOBYTE;
    const chunks: Buffer[] = [];
    for (let bytes = 0; ;) {
      const chunk = Buffer.alloc(MOST_VALUE_KB * KILOBYTE);
      const read = readSync(file, chunk);
      if (read === 0) return Buffer.concat(chunks).toString('utf8');
      bytes += read;
      if (bytes > most) {
        throw Object.assign(new Error(`more than ${mostKilobytes} kB`), {
          code: `EFBIG, more than ${mostKilobytes} kB`,
        });
      }
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}
