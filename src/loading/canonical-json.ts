/**
 * JSON with the keys of every object in order: two responses that differ only in order are one record. Made of every record
 * that is ever read: the same names are not sorted again, and the bytes are written one by one into one buffer, because joining
 * a hundred short texts takes half as long again and leaves six times the garbage.
 */
import { ExactNumber } from '../shared/exact-number.ts';

/** PostgreSQL and our own recursion both end somewhere beyond a thousand levels; no honest record comes near. */
export const DEEPEST = 200;

export class NestedTooDeeply extends Error {}

/** The names of an object's fields. */
interface Form {
  readonly received: readonly string[];
  /** Indexes among those received, in the order of the names. */
  readonly order: readonly number[];
  /** What stands before each value, in that order. */
  readonly names: readonly Uint8Array[];
}

const NO_BYTES = new Uint8Array();

/** What stands before a value of that name: `"name":` */
const namesMet = new Map<string, Uint8Array>();
const MOST_NAMES_MET = 10_000;

function nameBytes(name: string): Uint8Array {
  const known = namesMet.get(name);
  if (known !== undefined) return known;
  const bytes = Buffer.from(`${JSON.stringify(name)}:`);
  if (namesMet.size < MOST_NAMES_MET) namesMet.set(name, bytes);
  return bytes;
}

/** Forms that were met, by their first name: records of one kind have a few, which come again and again. */
const forms = new Map<string, Form[]>();
const MOST_FIRST_NAMES = 1000;
const MOST_OF_ONE_FIRST_NAME = 32;
const MOST_NAMES = 200;

function isSame(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at += 1) if (names[at] !== others[at]) return false;
  return true;
}

function formOf(object: object): Form {
  const received = Object.keys(object);
  const known = forms.get(received[0] ?? '');
  if (known !== undefined) for (const form of known) if (isSame(form.received, received)) return form;
  const nameAt = (index: number): string => received[index] ?? '';
  const order = received
    .map((_, index) => index)
    .sort((one, other) => (nameAt(one) < nameAt(other) ? -1 : 1));
  const form = { received, order, names: order.map((index) => nameBytes(nameAt(index))) };
  if (received.length > MOST_NAMES) return form;
  if (known === undefined) {
    if (forms.size < MOST_FIRST_NAMES) forms.set(received[0] ?? '', [form]);
  } else if (known.length < MOST_OF_ONE_FIRST_NAME) known.push(form);
  return form;
}

/** What an exact number is in the text. */
export type ExactText = (number: ExactNumber) => string;

/** More than most records take; what a larger one took is given back. */
const USUAL_BYTES = 256 * 1024;
/** Where the text is made: nothing of it stays between two calls. */
let output = Buffer.allocUnsafeSlow(USUAL_BYTES);

/** UTF-8 takes at most as many bytes for a UTF-16 code unit. */
const MOST_BYTES_OF_A_UNIT = 3;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const LAST_ASCII = 0x7f;

/** With room for `more` bytes behind the first `at`. */
function reserve(at: number, more: number): Buffer {
  if (at + more > output.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(at + more, 2 * output.length));
    output.copy(larger, 0, 0, at);
    output = larger;
  }
  return output;
}

// Each writes from `start` on, and returns where it ends.

function writeByte(byte: number, start: number): number {
  reserve(start, 1)[start] = byte;
  return start + 1;
}

function writeBytes(bytes: Uint8Array, start: number): number {
  const into = reserve(start, bytes.length);
  // One by one: a copy of so few costs more.
  for (let at = 0; at < bytes.length; at += 1) into[start + at] = bytes[at] ?? 0;
  return start + bytes.length;
}

function writeText(text: string, start: number): number {
  const into = reserve(start, text.length * MOST_BYTES_OF_A_UNIT);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > LAST_ASCII) return start + into.write(text, start);
    into[start + at] = unit;
  }
  return start + text.length;
}

function writeString(text: string, start: number): number {
  const into = reserve(start, text.length + 2);
  into[start] = QUOTE;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < SPACE || unit > LAST_ASCII || unit === QUOTE || unit === BACKSLASH) {
      return writeText(JSON.stringify(text), start);
    }
    into[start + 1 + at] = unit;
  }
  into[start + 1 + text.length] = QUOTE;
  return start + text.length + 2;
}

function writeNumber(value: number, start: number): number {
  // JSON has numbers that are infinite here, and no text for them.
  if (!Number.isFinite(value)) return writeText('null', start);
  if (!Number.isSafeInteger(value) || value < 0) return writeText(String(value), start);
  let digits = 1;
  for (let power = 10; power <= value; power *= 10) digits += 1;
  const into = reserve(start, digits);
  let rest = value;
  for (let at = start + digits - 1; at >= start; at -= 1) {
    const tenth = Math.floor(rest / 10);
    into[at] = ZERO + (rest - 10 * tenth);
    rest = tenth;
  }
  return start + digits;
}

class Writer {
  private readonly exactText: ExactText;

  constructor(exactText: ExactText) {
    this.exactText = exactText;
  }

  write(value: unknown, start: number, depth: number): number {
    if (typeof value === 'string') return writeString(value, start);
    if (typeof value === 'number') return writeNumber(value, start);
    if (typeof value !== 'object' || value === null) return writeText(String(value), start);
    if (value instanceof ExactNumber) return writeText(this.exactText(value), start);
    if (depth > DEEPEST) throw new NestedTooDeeply();
    return Array.isArray(value) ? this.writeList(value, start, depth) : this.writeObject(value, start, depth);
  }

  private writeList(list: readonly unknown[], start: number, depth: number): number {
    let at = writeByte(OPENING_BRACKET, start);
    for (let index = 0; index < list.length; index += 1) {
      if (index > 0) at = writeByte(COMMA, at);
      at = this.write(list[index], at, depth + 1);
    }
    return writeByte(CLOSING_BRACKET, at);
  }

  private writeObject(object: object, start: number, depth: number): number {
    const { names, order } = formOf(object);
    const values: readonly unknown[] = Object.values(object);
    let at = writeByte(OPENING_BRACE, start);
    for (let index = 0; index < order.length; index += 1) {
      if (index > 0) at = writeByte(COMMA, at);
      at = writeBytes(names[index] ?? NO_BYTES, at);
      at = this.write(values[order[index] ?? 0], at, depth + 1);
    }
    return writeByte(CLOSING_BRACE, at);
  }
}

/** With `prefix` before it. Throws NestedTooDeeply beyond `DEEPEST` levels. */
export function toCanonicalJson(
  value: unknown,
  exactText: ExactText = (number) => number.toJsonText(),
  prefix = '',
): string {
  const end = new Writer(exactText).write(value, writeText(prefix, 0), 0);
  const text = output.toString('utf8', 0, end);
  if (output.length > USUAL_BYTES) output = Buffer.allocUnsafeSlow(USUAL_BYTES);
  return text;
}
