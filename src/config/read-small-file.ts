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
    const bytes = Buffer.alloc(mostKilobytes * KILOBYTE + 1);
    let length = 0;
    // A pipe gives its content in pieces; a full buffer reads nothing.
    for (let read = 1; read > 0; length += read) read = readSync(file, bytes, { offset: length });
    // Without a byte order mark.
    if (length < bytes.length) return new TextDecoder().decode(bytes.subarray(0, length));
    const problem = `more than ${mostKilobytes} kB`;
    throw Object.assign(new Error(problem), { code: `EFBIG, ${problem}` });
  } finally {
    closeSync(file);
  }
}
