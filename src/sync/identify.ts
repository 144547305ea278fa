/** Gives a record as received its key, its hash and its storable text, before any normalizing. */
import { hash } from 'node:crypto';
import type { StreamDefinition, WireRecord } from '../streams/stream.ts';
import { isWireRecord, key as keyField } from '../streams/wire.ts';
import { DEEPEST, NestedTooDeeply, toCanonicalJson } from './canonical-json.ts';

export interface IdentifiedRecord {
  /** null: the record cannot be stored as a row. */
  readonly key: string | null;
  /** Why there is no key. */
  readonly problem: string | null;
  /** 128 bits of SHA-256 over the canonical text and the stream's version, in the form of a uuid. */
  readonly hash: string;
  /** Canonical JSON: keys in order, no text that PostgreSQL refuses. */
  readonly text: string;
  /** The record without such text; null when it is not even an object. */
  readonly record: WireRecord | null;
}

/** In JSON text: an escaped NUL or a surrogate that stands alone (a pair is never escaped by JSON.stringify). */
const UNSTORABLE = /\\u0000|\\ud[89a-f]/;

/** Replaces what PostgreSQL's text and jsonb cannot hold by U+FFFD, in texts and in the names of fields. */
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\ufffd');
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [toStorable(name) as string, toStorable(inner)]),
    );
  }
  return value;
}

export function toUuid(text: string): string {
  const hex = hash('sha256', text, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

export function identify(stream: StreamDefinition, received: unknown): IdentifiedRecord {
  let value = received;
  // The version stands before the text, not added to it: the text is one piece of memory with what is hashed.
  const prefix = `${stream.version}:`;
  let hashed: string;
  try {
    hashed = prefix + toCanonicalJson(value);
  } catch (error) {
    if (!(error instanceof NestedTooDeeply)) throw error;
    const problem = `the record is nested deeper than ${DEEPEST} levels`;
    return { key: null, problem, hash: toUuid(problem), text: JSON.stringify(problem), record: null };
  }
  if (UNSTORABLE.test(hashed)) {
    value = toStorable(value);
    hashed = prefix + toCanonicalJson(value);
  }
  const hash = toUuid(hashed);
  const text = hashed.slice(prefix.length);
  if (!isWireRecord(value)) {
    return { key: null, problem: 'the record is not an object', hash, text, record: null };
  }
  const told = value[stream.keyField];
  const key = keyField.read(told, ignore);
  const problem = key === null ? explainKey(stream, told) : null;
  return { key, problem, hash, text, record: value };
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
  const parts = stream.identityFields.map((field) => record[field] ?? null);
  return parts.some((part) => part !== null) ? toUuid(JSON.stringify(parts)) : null;
}
