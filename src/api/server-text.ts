import type { Redact } from './token-redactor.ts';

/** How many characters of a server's own words an error shows. */
export const EXCERPT_LENGTH = 80;

/** More of a text is not even looked at: a description may be as large as an answer. */
const LONGEST_READ = 64 * 1024;

/**
 * Text that the other side controls, made safe for messages and logs: printable characters on one line, without the
 * token, not longer than asked. The token goes before the cut, so that no part of it is left at the end.
 */
export function toServerText(text: string, redact: Redact, longest: number = EXCERPT_LENGTH): string {
  const oneLine = redact(text.slice(0, LONGEST_READ))
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  const safe = redact(oneLine);
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe;
}
