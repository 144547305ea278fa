/**
 * Cuts the records of the list out of the bytes of a response. Everything outside of the list is the envelope. Only brackets
 * and texts are looked at here; other errors of JSON are found when an element or the envelope is parsed.
 */
import { isUtf8 } from 'node:buffer';
import { parseReceived, Received } from '../../shared/received.ts';
import type { ListPage } from './requests.ts';
import { UnusableResponse } from './response-errors.ts';

/** PostgreSQL and recursive functions fail somewhere beyond a thousand levels. */
const DEEPEST = 200;

/** The bytes that give JSON its form. All bytes of multi-byte characters are >= 0x80, so none is one of these. */
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
/** This bit turns a bracket into the brace of the same side. */
const BRACE_BIT = 0x20;

const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const notJson = (message = 'the response is not JSON') => new UnusableResponse('response_not_json', message);
const isCut = ({ length }: Buffer) =>
  new UnusableResponse('response_cut', `the response ends in the middle, after ${length} bytes`);

/** The index of the quote that ends the text; that of the end of `bytes`, or behind it: it does not end. */
function endOfText(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The index of the next byte that is no white space. */
function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && (bytes[at] ?? 0) <= SPACE) at += 1;
  return at;
}

/** Scans one element after the other, and finds the wanted fields of its outermost object. */
class ElementScan {
  deepest = 0;
  private readonly names: readonly (readonly [string, Buffer])[];
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;

  constructor(names: readonly string[]) {
    this.names = names.map((name) => [name, Buffer.from(name)]);
    this.starts = new Int32Array(names.length);
    this.ends = new Int32Array(names.length);
  }

  /** The index of the comma or bracket after the element that begins at `start`; -1: it does not end in `bytes`. */
  run(bytes: Buffer, start: number): number {
    this.ends.fill(0);
    this.deepest = 0;
    let depth = 0;
    let [textStart, textEnd] = [start, start];
    /** The wanted field with the present value. */
    let field = -1;
    for (let at = start; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      // Digits are most of the bytes between texts.
      if (byte >= ZERO && byte <= NINE) continue;
      if (byte === QUOTE) {
        textStart = at + 1;
        textEnd = endOfText(bytes, textStart);
        at = textEnd;
      } else if (byte === COLON && depth === 1) {
        field = this.find(bytes, textStart, textEnd);
        if (field >= 0) this.starts[field] = at + 1;
      } else if (byte === COMMA || (byte | BRACE_BIT) === CLOSING_BRACE) {
        if (depth === 1 && field >= 0) {
          this.ends[field] = at;
          field = -1;
        }
        if (depth === 0) return at;
        if (byte !== COMMA) depth -= 1;
      } else if ((byte | BRACE_BIT) === OPENING_BRACE) {
        depth += 1;
        if (depth > this.deepest) this.deepest = depth;
      }
    }
    return -1;
  }

  /** The wanted fields of the element that was scanned last. */
  fields(bytes: Buffer): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (const [index, [name]] of this.names.entries()) {
      const end = this.ends[index] ?? 0;
      if (end === 0) continue;
      try {
        fields[name] = parseReceived(bytes.toString('utf8', this.starts[index], end));
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

/** The records of the list with its first element at `from`, and the index of the closing bracket. */
function cutElements(bytes: Buffer, from: number, fields: readonly string[]) {
  const scan = new ElementScan(fields);
  const records: Received[] = [];
  for (let start = from; ;) {
    const end = scan.run(bytes, start);
    if (end === -1) throw isCut(bytes);
    const isLast = bytes[end] !== COMMA;
    if (isLast && bytes[end] !== CLOSING_BRACKET) throw notJson('the list is closed by a brace');
    const first = skipSpace(bytes, start);
    let last = end;
    while (last > first && (bytes[last - 1] ?? 0) <= SPACE) last -= 1;
    if (first < last) {
      if (scan.deepest > DEEPEST)
        throw new UnusableResponse('response_invalid', `a record is nested deeper than ${DEEPEST} levels`);
      records.push(new Received(bytes, { fields: scan.fields(bytes), from: first, to: last }));
    } else if (!isLast || records.length > 0) throw notJson('the list has a comma without an element');
    if (isLast) return { records, end };
    start = end + 1;
  }
}

/**
 * The records are views on the bytes. `listKey` undefined: the whole response is envelope. `fields`: those of an element that
 * readers look at. Throws UnusableResponse.
 */
export function cutResponse(
  bytes: Buffer,
  listKey: string | undefined,
  fields: readonly string[] = [],
): Pick<ListPage, 'records' | 'envelope'> {
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const begin = skipSpace(bytes, hasMark ? BYTE_ORDER_MARK.length : 0);
  if (begin === bytes.length) throw new UnusableResponse('response_cut', 'the response is empty');
  if (bytes[begin] !== OPENING_BRACE) throw notJson('the response is not a JSON object');
  const scan = new ElementScan([]);
  const quotedKey = Buffer.from(JSON.stringify(listKey ?? ''));
  let records: readonly Received[] | undefined;
  /** The envelope. */
  const parts: Buffer[] = [];
  let partFrom = begin;
  let at = begin + 1;
  for (let isEnd = false; !isEnd; at += 1) {
    const key = skipSpace(bytes, at);
    const keyEnd = key + quotedKey.length;
    if (listKey !== undefined && records === undefined && bytes.subarray(key, keyEnd).equals(quotedKey)) {
      const colon = skipSpace(bytes, keyEnd);
      const value = skipSpace(bytes, colon + 1);
      if (bytes[colon] === COLON && bytes[value] === OPENING_BRACKET) {
        const list = cutElements(bytes, value + 1, fields);
        ({ records } = list);
        parts.push(bytes.subarray(partFrom, value + 1));
        partFrom = list.end;
        at = list.end + 1;
      }
    }
    at = scan.run(bytes, at);
    if (at === -1) throw isCut(bytes);
    isEnd = bytes[at] !== COMMA;
  }
  if (skipSpace(bytes, at) < bytes.length) throw notJson('something follows the end of the response');
  if (!isUtf8(bytes)) throw notJson('the response is not UTF-8');
  parts.push(bytes.subarray(partFrom));
  let envelope: ListPage['envelope'];
  try {
    envelope = JSON.parse(Buffer.concat(parts).toString()) as ListPage['envelope'];
  } catch {
    throw notJson();
  }
  const again = listKey === undefined ? [] : envelope[listKey];
  if (Array.isArray(again) && again.length > 0)
    throw new UnusableResponse('response_invalid', 'the response has its list twice');
  return { records: records ?? [], envelope };
}
