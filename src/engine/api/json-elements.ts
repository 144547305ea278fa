/**
 * Finds the ends of values in the bytes of a JSON response. Only brackets, texts and literals are checked here; other
 * errors of JSON are found when an element or the envelope is parsed.
 */
import { parseReceived } from '../../shared/received.ts';
import { UnusableResponse } from './response-errors.ts';

/** The bytes that give JSON its form. All bytes of multi-byte characters are >= 0x80, so none is one of these. */
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LOWER_E = 0x65;
const DELETE = 0x7f;
export const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
export const OPENING_BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;
/** This bit turns a bracket into the brace of the same side, and a capital letter into a small one. */
const LOWER_BIT = 0x20;

/** A double holds all digits of a number with fewer characters. */
const LONG_NUMBER_BYTES = 16;

const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');

/** The index of the quote that ends the text; that of the end of `bytes`, or behind it: it does not end. */
export function endOfText(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The literal that begins at `at`, as far as `bytes` go; undefined: there is none. */
function literalAt(bytes: Buffer, at: number): Buffer | undefined {
  const literal = bytes[at] === TRUE[0] ? TRUE : bytes[at] === FALSE[0] ? FALSE : NULL;
  const end = Math.min(literal.length, bytes.length - at);
  for (let index = 0; index < end; index += 1) if (bytes[at + index] !== literal[index]) return undefined;
  return literal;
}

/**
 * A value in its usual form: digits that a double holds, or ASCII without escapes; undefined: another value. Parsed here,
 * because JSON.parse of each field takes 4 % of an unchanged read.
 */
function plainValueAt(bytes: Buffer, start: number, end: number): number | string | undefined {
  const isText = bytes[start] === QUOTE && end - start > 1;
  if (isText) {
    for (let at = start + 1; at < end - 1; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte < SPACE || byte >= DELETE || byte === QUOTE || byte === BACKSLASH) return undefined;
    }
    return bytes[end - 1] === QUOTE ? bytes.toString('latin1', start + 1, end - 1) : undefined;
  }
  if (start === end || end - start >= LONG_NUMBER_BYTES || bytes[start] === ZERO) return undefined;
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) return undefined;
    number = number * 10 + byte - ZERO;
  }
  return number;
}

const notJson = () => new UnusableResponse('response_not_json', 'the response is not JSON');

/** Scans one element, and finds the wanted fields of its outermost object. */
export class ElementScan {
  deepest = 0;
  private readonly names: readonly (readonly [string, Buffer])[];
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;

  constructor(names: readonly string[]) {
    this.names = names.map((name) => [name, Buffer.from(name)]);
    this.starts = new Int32Array(names.length);
    this.ends = new Int32Array(names.length);
  }

  /**
   * The index of the comma or bracket after the element that begins at `start`; -1: it does not end in
   * `bytes`.
   */
  run(bytes: Buffer, start: number): number {
    const end = bytes.length;
    this.ends.fill(0);
    let [depth, deepest] = [0, 0];
    let at = start;
    let [textStart, textEnd] = [start, start];
    /** The wanted field with the present value. */
    let field = -1;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      at += 1;
      // Digits are most of the bytes between texts.
      if (byte >= ZERO && byte <= NINE) continue;
      if (byte === QUOTE) {
        textStart = at;
        textEnd = endOfText(bytes, at);
        at = textEnd + 1;
      } else if (byte === COLON) {
        if (depth === 1) {
          field = this.find(bytes, textStart, textEnd);
          if (field >= 0) {
            this.starts[field] = at;
            this.ends[field] = 0;
          }
        }
      } else if (byte === COMMA || (byte | LOWER_BIT) === CLOSING_BRACE) {
        if (depth <= 1) {
          if (field >= 0) this.ends[field] = at - 1;
          field = -1;
          if (depth === 0) {
            this.deepest = deepest;
            return at - 1;
          }
        }
        if (byte !== COMMA) depth -= 1;
      } else if ((byte | LOWER_BIT) === OPENING_BRACE) {
        depth += 1;
        if (depth > deepest) deepest = depth;
      } else if (byte > NINE) {
        const before = bytes[at - 2] ?? 0;
        // An exponent.
        if ((byte | LOWER_BIT) === LOWER_E && before >= ZERO && before <= NINE) continue;
        const literal = literalAt(bytes, at - 1);
        if (literal === undefined) throw notJson();
        at += literal.length - 1;
      }
    }
    return -1;
  }

  /** The wanted fields of the element that was scanned last; without those that did not end. */
  fields(bytes: Buffer): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (let index = 0; index < this.names.length; index += 1) {
      const end = this.ends[index] ?? 0;
      if (end === 0) continue;
      const start = this.starts[index] ?? 0;
      try {
        fields[this.names[index]?.[0] ?? ''] =
          plainValueAt(bytes, start, end) ?? parseReceived(bytes.toString('utf8', start, end));
      } catch {
        throw notJson();
      }
    }
    return fields;
  }

  private find(bytes: Buffer, from: number, to: number): number {
    for (let index = 0; index < this.names.length; index += 1) {
      const name = this.names[index]?.[1];
      if (name?.length !== to - from) continue;
      let at = 0;
      while (at < name.length && name[at] === bytes[from + at]) at += 1;
      if (at === name.length) return index;
    }
    return -1;
  }
}
