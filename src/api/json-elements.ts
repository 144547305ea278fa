/** Cuts the elements of a JSON array out of its bytes. */
import { parseExactJson } from '../shared/exact-json.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import { OVERSIZED, type OversizedRecord } from '../shared/oversized.ts';
import { UnusableResponse } from './response-errors.ts';

/** The bytes that give JSON its form. Those of multi-byte characters are all >= 0x80: never one of these. */
const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
const LOWER_E = 0x65;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;
export const OPENING_BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;

/** One element must be held whole before it can be parsed; a list has no such bound. Of a larger one only its beginning is read. */
const LARGEST_ELEMENT_BYTES = 16 * 1024 * 1024;

/** A bracket with this bit set is the brace of the same side; no other ASCII byte becomes one by it. */
const BRACE_BIT = 0x20;

/**
 * Elements that are smaller are parsed together, one call instead of hundreds. Larger ones alone: a single character
 * beyond Latin-1 doubles the memory of the whole text that it is parsed with, and the time.
 */
const SMALL_BYTES = 512;

/** A number of fewer characters has no more digits than a double holds. */
const LONG_NUMBER_BYTES = 16;
/** Of a letter: makes it a small one. */
const SMALL_LETTER_BIT = 0x20;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

/** Whether a number that ends at `at`, or with white space behind it, ends with a zero. */
function endsWithZero(chunk: Buffer, at: number): boolean {
  let last = at;
  while ((chunk[last] ?? ZERO) <= SPACE) last -= 1;
  return chunk[last] === ZERO;
}

function parseJson(text: string, mayHoldExactNumbers: boolean): unknown {
  try {
    return mayHoldExactNumbers ? parseExactJson(text) : (JSON.parse(text) as unknown);
  } catch {
    // JSON.parse quotes the text it fails at; that may be anything, so its words go no further.
    throw new UnusableResponse('response_not_json', 'an element of the list is not JSON');
  }
}

/** A longer one is not what tells records apart. */
const LONGEST_FIELD_BYTES = 2000;

/** The fields of the element that are no lists and no objects, as far as its beginning shows them whole. */
function toOversized(beginning: Buffer, about: string): OversizedRecord {
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
        if (at - start <= LONGEST_FIELD_BYTES) takeField(element, beginning.toString('utf8', start, at));
        start = at + 1;
      }
      if (closes) depth -= 1;
    }
  }
  return element;
}

function takeField(element: Record<string, unknown>, text: string): void {
  let field: object;
  try {
    field = parseJson(`{${text}}`, true) as object;
  } catch {
    return;
  }
  for (const [name, value] of Object.entries(field)) {
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) {
      element[name] = value as unknown;
    }
  }
}

/**
 * Cuts one JSON array, given in chunks, at the commas between its elements. Only depth and strings are followed here;
 * whether the text between two cuts is JSON is for JSON.parse to say.
 */
export class ElementScanner {
  private elements: unknown[] = [];
  private depth = 0;
  private inString = false;
  /** The byte before was a backslash inside a string. */
  private escaped = false;
  /** Chunks of the element that has not ended yet. */
  private carry: Buffer[] = [];
  private carryBytes = 0;
  private sawComma = false;
  /** Of the element that has not ended yet, when it is too large. */
  private oversized: OversizedRecord | undefined;
  private taken = 0;
  /** In what is not parsed yet a number is long, has an exponent, ends with a zero behind its point, or at the end of its chunk. */
  private isSuspect = false;

  /** Elements that ended since the last call. */
  take(): unknown[] {
    const taken = this.elements;
    this.taken += taken.length;
    this.elements = [];
    return taken;
  }

  /** The index behind the list's closing bracket, or undefined when the list goes on behind this chunk. */
  push(chunk: Buffer, from: number): number | undefined {
    const end = chunk.length;
    let { depth, inString } = this;
    let at = this.escaped ? from + 1 : from;
    let lastComma = -1;
    let start = from;
    /** Behind the last comma, bracket or quote. */
    let valueStart = from;
    let sawDot = false;
    this.escaped = false;
    while (at < end) {
      if (inString) {
        while (at < end && chunk[at] !== QUOTE) at += chunk[at] === BACKSLASH ? 2 : 1;
        // Two steps may lead one byte beyond the chunk: then the next chunk begins with the escaped byte.
        if (at >= end) this.escaped = at > end;
        else inString = false;
        at += 1;
        valueStart = at;
        continue;
      }
      const byte = chunk[at] ?? 0;
      at += 1;
      // Digits and colons are most of what stands between texts.
      if (byte >= ZERO && byte <= COLON) continue;
      if (byte === QUOTE) inString = true;
      else if (byte === COMMA) {
        if (at - valueStart > LONG_NUMBER_BYTES || (sawDot && endsWithZero(chunk, at - 2)))
          this.isSuspect = true;
        valueStart = at;
        sawDot = false;
        if (depth === 0) {
          const isFirst = lastComma < start;
          lastComma = at - 1;
          if (lastComma - start + this.carryBytes >= SMALL_BYTES) {
            const part = chunk.subarray(start, lastComma);
            if (isFirst) this.parseOne(part);
            else this.parse(part, false);
            this.isSuspect = false;
            this.sawComma = true;
            start = at;
          }
        }
      } else if ((byte | BRACE_BIT) === OPENING_BRACE) {
        depth += 1;
        valueStart = at;
      } else if ((byte | BRACE_BIT) === CLOSING_BRACE) {
        if (at - valueStart > LONG_NUMBER_BYTES || (sawDot && endsWithZero(chunk, at - 2)))
          this.isSuspect = true;
        valueStart = at;
        sawDot = false;
        if (depth === 0) {
          this.finish(chunk, start, at - 1);
          return at;
        }
        depth -= 1;
      } else if (byte === DOT) sawDot = true;
      else if ((byte | SMALL_LETTER_BIT) === LOWER_E && isDigit(chunk[at - 2])) this.isSuspect = true;
    }
    this.depth = depth;
    this.inString = inString;
    if (!inString && valueStart < end) this.isSuspect = true;
    if (lastComma >= start) {
      this.parse(chunk.subarray(start, lastComma), false);
      this.sawComma = true;
      start = lastComma + 1;
    }
    this.keep(chunk.subarray(start));
    return undefined;
  }

  private keep(part: Buffer): void {
    if (part.length === 0) return;
    this.carryBytes += part.length;
    if (this.oversized !== undefined) return;
    this.carry.push(part);
    if (this.carryBytes <= LARGEST_ELEMENT_BYTES) return;
    const place = this.taken + this.elements.length + 1;
    const about = `the record is larger than ${LARGEST_ELEMENT_BYTES} bytes (number ${place} of its response)`;
    this.oversized = toOversized(Buffer.concat(this.carry), about);
    this.carry = [];
  }

  private finish(chunk: Buffer, from: number, at: number): void {
    if (chunk[at] !== CLOSING_BRACKET) {
      throw new UnusableResponse('response_not_json', 'the list is closed by a brace');
    }
    this.parse(chunk.subarray(from, at), !this.sawComma);
  }

  /** The text up to here, with what was carried over. */
  private finishText(part: Buffer): string {
    const bytes = this.carry.length === 0 ? part : Buffer.concat([...this.carry, part]);
    this.carry = [];
    this.carryBytes = 0;
    return bytes.toString('utf8');
  }

  /** A text without a comma outside of its brackets and strings. */
  private parseOne(part: Buffer): void {
    if (this.oversized !== undefined) this.finishOversized(this.oversized);
    else this.elements.push(parseJson(this.finishText(part), this.isSuspect));
  }

  /** Its end, however much of it came since it was too large, is not looked at. */
  private finishOversized(element: OversizedRecord): void {
    this.elements.push(element);
    this.oversized = undefined;
    this.carryBytes = 0;
  }

  private parse(part: Buffer, mayBeEmpty: boolean): void {
    if (this.oversized !== undefined) {
      this.finishOversized(this.oversized);
      return;
    }
    const parsed = parseJson(`[${this.finishText(part)}]`, this.isSuspect) as unknown[];
    if (parsed.length === 0 && !mayBeEmpty) {
      throw new UnusableResponse('response_not_json', 'the list has a comma without an element');
    }
    if (this.elements.length === 0) this.elements = parsed;
    else for (const element of parsed) this.elements.push(element);
  }
}
