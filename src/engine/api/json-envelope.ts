/** The outline of a JSON response: where its list begins, and where it ends. */
import {
  BACKSLASH,
  CLOSING_BRACE,
  COLON,
  LOWER_BIT,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
  SPACE,
} from './json-elements.ts';

interface Outline {
  /** The position after the bracket that opens the list; undefined: there is none. */
  readonly listAt: number | undefined;
  /** How often the key of the list occurs. */
  readonly keys: number;
  /** The position after the last brace; undefined: the object does not end. */
  readonly end: number | undefined;
}

function isKey(text: Buffer, key: string): boolean {
  try {
    return JSON.parse(`"${text.toString()}"`) === key;
  } catch {
    return false;
  }
}

/**
 * Only keys of the outermost object count, even if the key of the list also occurs deeper or in a text. `untilList`: reads no
 * further than the bracket that opens the list, because a chunk behind it is large.
 */
export function readOutline(bytes: Buffer, listKey: string | undefined, untilList = false): Outline {
  let depth = 0;
  let keys = 0;
  let listAt: number | undefined;
  let text = bytes.subarray(0, 0);
  /** The next value belongs to the key of the list. */
  let isList = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte <= SPACE) continue;
    if (byte === QUOTE) {
      const start = at + 1;
      for (at = start; at < bytes.length && bytes[at] !== QUOTE;) at += bytes[at] === BACKSLASH ? 2 : 1;
      text = bytes.subarray(start, at);
    } else if ((byte | LOWER_BIT) === OPENING_BRACE) {
      if (isList && byte === OPENING_BRACKET) listAt ??= at + 1;
      if (untilList && listAt !== undefined) break;
      depth += 1;
    } else if ((byte | LOWER_BIT) === CLOSING_BRACE) {
      depth -= 1;
      if (depth === 0) return { listAt, keys, end: at + 1 };
    }
    isList = byte === COLON && depth === 1 && listKey !== undefined && isKey(text, listKey);
    if (isList) keys += 1;
  }
  return { listAt, keys, end: undefined };
}
