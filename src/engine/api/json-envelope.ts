/** Reads the part of a JSON response outside of its list, and finds where the list begins. */
import { parseExactJson } from '../../shared/exact-json.ts';
import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
} from './json-elements.ts';
import { UnusableResponse } from './response-errors.ts';

/** Everything outside the list is held until the end of the response. */
const LARGEST_ENVELOPE_BYTES = 16 * 1024 * 1024;

/** No key of a list is as long, so a longer key is another one. */
const LONGEST_KEY_BYTES = 1024;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function isWhiteSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isKey(bytes: readonly number[], key: string): boolean {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString('utf8')}"`) === key;
  } catch {
    return false;
  }
}

type Place = 'before' | 'key' | 'colon' | 'value' | 'in_value' | 'after';

/** Whether the list was found; `other`: its value is not an array. */
export type ListFound = 'absent' | 'array' | 'other';

/**
 * Reads the response's object outside of its list: keeps those bytes, and stops at the beginning of the array
 * under `listKey`. Only keys of the outermost object count, even if the text also occurs deeper or in quotes.
 */
export class EnvelopeScanner {
  listFound: ListFound = 'absent';
  private readonly listKey: string | undefined;
  private readonly parts: Buffer[] = [];
  private size = 0;
  private position = 0;
  private place: Place = 'before';
  private depth = 0;
  private inString = false;
  private escaped = false;
  /** Bytes of the outermost key being read; undefined while no such key is open. */
  private keyBytes: number[] | undefined;
  private keyMatches = false;

  constructor(listKey: string | undefined) {
    this.listKey = listKey;
  }

  /** The index of the list's first byte, or undefined when the chunk holds no beginning of the list. */
  push(chunk: Buffer, from: number): number | undefined {
    for (let at = from; at < chunk.length; at += 1) {
      if (this.read(chunk[at] ?? 0)) {
        // The list leaves two brackets behind: it stays in the envelope as an empty array.
        this.keep(chunk.subarray(from, at + 1));
        this.keep(Buffer.from(']'));
        return at + 1;
      }
    }
    this.keep(chunk.subarray(from));
    return undefined;
  }

  /** The parsed response without its list. */
  end(): Readonly<Record<string, unknown>> {
    if (this.place === 'before') throw new UnusableResponse('response_cut', 'the response is empty');
    if (this.place !== 'after') {
      throw new UnusableResponse(
        'response_cut',
        `the response ends in the middle, after ${this.position} bytes`,
      );
    }
    const received = Buffer.concat(this.parts).toString('utf8');
    const text = received.startsWith('\ufeff') ? received.slice(1) : received;
    try {
      // Without a list this is the requested record; with a list it only contains counts and times.
      const parse = this.listKey === undefined ? parseExactJson : JSON.parse;
      return parse(text) as Record<string, unknown>;
    } catch {
      throw new UnusableResponse('response_not_json', 'the response is not JSON');
    }
  }

  private keep(part: Buffer): void {
    this.size += part.length;
    if (this.size > LARGEST_ENVELOPE_BYTES) {
      throw new UnusableResponse(
        'response_invalid',
        `the response has more than ${LARGEST_ENVELOPE_BYTES} bytes outside of its list`,
      );
    }
    if (part.length > 0) this.parts.push(part);
  }

  /** True when this byte opens the list. */
  private read(byte: number): boolean {
    const position = this.position;
    this.position += 1;
    if (this.inString) {
      this.readInString(byte);
      return false;
    }
    if (isWhiteSpace(byte)) return false;
    if (this.place === 'before') {
      if (byte === BYTE_ORDER_MARK[position]) return false;
      if (byte !== OPENING_BRACE) {
        throw new UnusableResponse('response_not_json', 'the response is not a JSON object');
      }
      this.place = 'key';
      this.depth = 1;
      return false;
    }
    if (this.place === 'after') {
      throw new UnusableResponse('response_not_json', 'something follows the end of the response');
    }
    if (this.place === 'value') {
      this.place = 'in_value';
      if (this.keyMatches && this.noteList(byte)) return true;
    }
    this.readStructure(byte);
    return false;
  }

  private readInString(byte: number): void {
    if (this.escaped) this.escaped = false;
    else if (byte === BACKSLASH) this.escaped = true;
    else if (byte === QUOTE) {
      this.inString = false;
      if (this.keyBytes !== undefined) {
        this.keyMatches = this.listKey !== undefined && isKey(this.keyBytes, this.listKey);
        this.keyBytes = undefined;
        this.place = 'colon';
      }
      return;
    }
    if (this.keyBytes !== undefined && this.keyBytes.length < LONGEST_KEY_BYTES) this.keyBytes.push(byte);
  }

  private readStructure(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.inString = true;
        if (this.place === 'key') this.keyBytes = [];
        return;
      case OPENING_BRACE:
      case OPENING_BRACKET:
        this.depth += 1;
        return;
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        this.depth -= 1;
        if (this.depth === 0) this.place = 'after';
        return;
      case COLON:
        if (this.place === 'colon') this.place = 'value';
        return;
      case COMMA:
        if (this.depth === 1) this.place = 'key';
        return;
      default:
    }
  }

  private noteList(firstByte: number): boolean {
    if (this.listFound !== 'absent') {
      throw new UnusableResponse('response_invalid', 'the response has its list twice');
    }
    this.listFound = firstByte === OPENING_BRACKET ? 'array' : 'other';
    return this.listFound === 'array';
  }
}
