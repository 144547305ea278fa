/** What is left of an element of a list that is too large to be held. */
import { ExactNumber } from '../shared/exact-number.ts';
import { BACKSLASH, CLOSING_BRACE, COMMA, OPENING_BRACE, QUOTE } from './json-bytes.ts';

/** Marks such an element and says how large it may be at most, and its place in the answer. No field: JSON passes it by. */
export const OVERSIZED = Symbol('oversized');

export type OversizedElement = Readonly<Record<string, unknown>> & { readonly [OVERSIZED]: string };

export function isOversized(element: unknown): element is OversizedElement {
  return typeof element === 'object' && element !== null && OVERSIZED in element;
}

/** A bracket with this bit set is the brace of the same side; no other ASCII byte becomes one by it. */
const BRACE_BIT = 0x20;
/** A longer one is not what tells records apart. */
const LONGEST_FIELD_BYTES = 2000;

/** The fields of the element that are no lists and no objects, as far as its beginning shows them whole. */
export function toOversized(
  beginning: Buffer,
  about: string,
  parse: (text: string) => unknown,
): OversizedElement {
  const element: Record<string, unknown> & { [OVERSIZED]: string } = { [OVERSIZED]: about };
  let depth = 0;
  let inString = false;
  let start = 0;
  for (let at = 0; at < beginning.length; at += 1) {
    const byte = beginning[at] ?? 0;
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if ((byte | BRACE_BIT) === OPENING_BRACE) {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else {
      const closes = (byte | BRACE_BIT) === CLOSING_BRACE;
      if (depth === 1 && (closes || byte === COMMA)) {
        if (at - start <= LONGEST_FIELD_BYTES)
          takeField(element, beginning.toString('utf8', start, at), parse);
        start = at + 1;
      }
      if (closes) depth -= 1;
    }
  }
  return element;
}

function takeField(element: Record<string, unknown>, text: string, parse: (text: string) => unknown): void {
  let field: object;
  try {
    field = parse(`{${text}}`) as object;
  } catch {
    return;
  }
  for (const [name, value] of Object.entries(field)) {
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) {
      element[name] = value as unknown;
    }
  }
}
