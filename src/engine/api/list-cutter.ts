/** Cuts the records of the list out of the bytes of a response. Everything outside of the list is the envelope. */
import { isUtf8 } from 'node:buffer';
import { DEEPEST, parseReceived, Received, TOO_DEEP } from '../../shared/received.ts';
import {
  CLOSING_BRACKET,
  COLON,
  COMMA,
  ElementScan,
  endOfText,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
  SPACE,
} from './json-elements.ts';
import { UnusableResponse } from './response-errors.ts';

export interface CutResponse {
  /** Elements of the list: views on the bytes of the response. */
  readonly records: readonly Received[];
  /** The whole response, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const notJson = (message: string) => new UnusableResponse('response_not_json', message);
const isCut = ({ length }: Buffer) =>
  new UnusableResponse('response_cut', `the response ends in the middle, after ${length} bytes`);

/** The index of the next byte that is no white space. */
function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && (bytes[at] ?? 0) <= SPACE) at += 1;
  return at;
}

function isKey(text: Buffer, key: string): boolean {
  try {
    return JSON.parse(`"${text.toString()}"`) === key;
  } catch {
    return false;
  }
}

/** The records of the list whose first element begins at `from`, and the index of the bracket behind them. */
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
    const isEmpty = first >= last;
    if (isEmpty && !(isLast && records.length === 0))
      throw notJson('the list has a comma without an element');
    if (!isEmpty) {
      const excess = scan.deepest > DEEPEST ? TOO_DEEP : null;
      const about = { fields: scan.fields(bytes), excess };
      records.push(new Received(bytes.subarray(first, last), about));
    }
    if (isLast) return { records, end };
    start = end + 1;
  }
}

/**
 * `listKey` undefined: the whole response is envelope. `fields`: those of an element that readers look at. Throws
 * UnusableResponse.
 */
export function cutResponse(
  bytes: Buffer,
  listKey: string | undefined,
  fields: readonly string[] = [],
): CutResponse {
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const begin = skipSpace(bytes, hasMark ? BYTE_ORDER_MARK.length : 0);
  if (begin === bytes.length) throw new UnusableResponse('response_cut', 'the response is empty');
  if (bytes[begin] !== OPENING_BRACE) throw notJson('the response is not a JSON object');
  const scan = new ElementScan([]);
  let records: readonly Received[] | undefined;
  /** The envelope. */
  const parts: Buffer[] = [];
  let partFrom = begin;
  let at = begin + 1;
  for (let isEnd = false; !isEnd; at += 1) {
    const key = skipSpace(bytes, at);
    if (listKey !== undefined && records === undefined && bytes[key] === QUOTE) {
      const keyEnd = endOfText(bytes, key + 1);
      const colon = skipSpace(bytes, keyEnd + 1);
      const value = skipSpace(bytes, colon + 1);
      const isList = bytes[colon] === COLON && bytes[value] === OPENING_BRACKET;
      if (isList && isKey(bytes.subarray(key + 1, keyEnd), listKey)) {
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
  const envelope = parseEnvelope(parts, listKey === undefined ? parseReceived : JSON.parse);
  const again = listKey === undefined ? [] : envelope[listKey];
  if (Array.isArray(again) && again.length > 0)
    throw new UnusableResponse('response_invalid', 'the response has its list twice');
  return { records: records ?? [], envelope };
}

/** `parse`: without a list the envelope holds the requested record; beside a list are only counts and times. */
function parseEnvelope(parts: readonly Buffer[], parse: (text: string) => unknown): CutResponse['envelope'] {
  try {
    return parse(Buffer.concat(parts).toString()) as CutResponse['envelope'];
  } catch {
    throw notJson('the response is not JSON');
  }
}
