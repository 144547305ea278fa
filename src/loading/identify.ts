/** Gives a record as received its key, its hash and its storable text, before any normalizing. */
import { hash } from 'node:crypto';
import { isOversized, OVERSIZED } from '../shared/oversized.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import type { ReadContext, StreamDefinition, WireRecord } from '../streams/stream.ts';
import { isWireRecord, key as keyField, toStorableText } from '../streams/wire.ts';
import { DEEPEST, NestedTooDeeply, toCanonicalJson, type ExactText } from './canonical-json.ts';

export interface IdentifiedRecord {
  /** null: the record does not say which one it is. */
  readonly key: string | null;
  /** Why the record cannot be stored as a row; null: it can. A record without a key never can. */
  readonly problem: string | null;
  /** 128 bits of SHA-256 over the stream's version and the canonical text, its numbers without zeros at the end, in the form of a uuid. */
  readonly hash: string;
  /** Canonical JSON: keys in order, no text that PostgreSQL refuses. */
  readonly text: string;
  /** The record without such text, until its rows are text and `releaseParsed` was called; null when it is not even an object. */
  record: WireRecord | null;
  /** `text` and `record` lack what was too much to hold. */
  readonly isShortened: boolean;
  /** The key as received holds characters that PostgreSQL cannot store, so that other keys may become the same one. */
  readonly isKeyAltered: boolean;
}

/** A record as it was read, with its number in the run. */
export interface ReadRecord {
  readonly identified: IdentifiedRecord;
  readonly about: ReadContext;
  readonly ord: number;
}

/** One that can be a row. */
export type KeyedRecord = ReadRecord & { readonly identified: { readonly key: string } };

/** In JSON text: an escaped NUL or a surrogate that stands alone (a pair is never escaped by JSON.stringify). */
const UNSTORABLE = /\\u0000|\\ud[89a-f]/;

/** Stands for what is nested deeper than a record may be. */
const CUT_OFF = '(nested too deeply to be held)';

/** Replaces what PostgreSQL's text and jsonb cannot hold by U+FFFD, in texts and in the names of fields, and cuts off what is nested too deeply. */
export function toStorable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (depth > DEEPEST) return CUT_OFF;
  if (Array.isArray(value)) return value.map((inner) => toStorable(inner, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [toStorable(name) as string, toStorable(inner, depth + 1)]),
  );
}

/** Exact numbers in all texts so far: most texts have none, and what is hashed of them is the text itself. */
let exactNumbersMet = 0;
const toReceivedText: ExactText = (number) => {
  exactNumbersMet += 1;
  return number.toJsonText();
};

/**
 * One text for every way to write a number: 1.50 is what a double has as 1.5. A whole number beyond 2^53 never has the
 * text of a rounded one, so that a record that was stored rounded does not count as the same.
 */
const toComparableText: ExactText = (number) => {
  const rounded = number.toNumber();
  return Number.isInteger(rounded) && !Number.isSafeInteger(rounded) ? `${String(number)}e0` : String(number);
};

export function toUuid(text: string): string {
  const hex = hash('sha256', text, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/** null: it is nested too deeply. */
function toText(prefix: string, value: unknown): string | null {
  try {
    return toCanonicalJson(value, toReceivedText, prefix);
  } catch (error) {
    if (error instanceof NestedTooDeeply) return null;
    throw error;
  }
}

/** What stands before the text of a record in what is hashed. */
function prefixOf(stream: StreamDefinition, received: unknown, context: ReadContext): string {
  const taken = isWireRecord(received) ? (stream.takenFromQuestion?.(received, context) ?? null) : null;
  // A record begins with a brace, so no prefix is the beginning of another one with its text.
  return taken === null ? `${stream.version}:` : `${stream.version}:${JSON.stringify(taken)}:`;
}

export function identify(
  stream: StreamDefinition,
  received: unknown,
  context: ReadContext,
): IdentifiedRecord {
  let value = received;
  // The prefix stands before the text, not added to it: the text is one piece of memory with what is hashed.
  const prefix = prefixOf(stream, received, context);
  const metBefore = exactNumbersMet;
  let hashed = toText(prefix, value);
  const isShortened = hashed === null || isOversized(received);
  if (hashed === null || (hashed.includes('\\u') && UNSTORABLE.test(hashed))) {
    value = toStorable(value);
    hashed = toCanonicalJson(value, toReceivedText, prefix);
  }
  const hash = toUuid(
    exactNumbersMet === metBefore ? hashed : toCanonicalJson(value, toComparableText, prefix),
  );
  const text = hashed.slice(prefix.length);
  if (!isWireRecord(value)) {
    const problem = 'the record is not an object';
    return { key: null, problem, hash, text, record: null, isShortened, isKeyAltered: false };
  }
  const told = value[stream.keyField];
  const key = keyField.read(told, ignore);
  let problem = key === null ? explainKey(stream, told) : null;
  if (isShortened) {
    const excess = isOversized(received)
      ? received[OVERSIZED]
      : `the record is nested deeper than ${DEEPEST} levels`;
    problem = problem === null ? excess : `${excess}; ${problem}`;
  }
  const isKeyAltered = value !== received && told !== (received as WireRecord)[stream.keyField];
  return { key, problem, hash, text, record: value, isShortened, isKeyAltered };
}

const ignore = (): void => undefined;

function explainKey(stream: StreamDefinition, told: unknown): string {
  let problem = 'it is absent';
  keyField.read(told, (why) => {
    problem = why;
  });
  return `no usable ${stream.keyField}: ${problem}`;
}

/** What stays the same when a record's key is repaired; null when the stream or the record has nothing of the kind. */
export function identityOf(stream: StreamDefinition, record: WireRecord | null): string | null {
  if (record === null) return null;
  return toIdentity(stream.identityFields.map((field) => record[field] ?? null));
}

/** A number is the same one in text: the service may send either. */
const toComparablePart = (part: unknown): unknown =>
  typeof part === 'number' || part instanceof ExactNumber ? String(part) : part;

/** The same, of the values of `identityFields`. */
export function toIdentity(parts: readonly unknown[]): string | null {
  if (parts.every((part) => part === null)) return null;
  return toUuid(toCanonicalJson(parts.map(toComparablePart), toComparableText));
}
