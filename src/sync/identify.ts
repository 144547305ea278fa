/** Gives a record as received its key, its hash and its storable text, before any normalizing. */
import { hash } from 'node:crypto';
import type { StreamDefinition, WireRecord } from '../streams/stream.ts';
import { isWireRecord, key as keyField } from '../streams/wire.ts';

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

/** PostgreSQL and our own recursion both end somewhere beyond a thousand levels; no honest record comes near. */
const DEEPEST = 200;

class NestedTooDeeply extends Error {}

/** Names of fields as JSON text with their colon: there are few of them, and they come again in every record. */
const fieldTexts = new Map<string, string>();
const MOST_FIELD_TEXTS = 5000;

function toFieldText(name: string): string {
  let text = fieldTexts.get(name);
  if (text === undefined) {
    text = `${JSON.stringify(name)}:`;
    if (fieldTexts.size < MOST_FIELD_TEXTS) fieldTexts.set(name, text);
  }
  return text;
}

/** JSON with the keys of every object in order: two answers that differ only in order are one record. */
export function toCanonicalJson(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value);
  // JSON has numbers that are infinite here, and no text for them.
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth > DEEPEST) throw new NestedTooDeeply();
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += (text === '' ? '[' : ',') + toCanonicalJson(item, depth + 1);
    return text === '' ? '[]' : `${text}]`;
  }
  const object = value as Record<string, unknown>;
  const names = Object.keys(object);
  if (names.length > 1) names.sort();
  for (const name of names) {
    text += (text === '' ? '{' : ',') + toFieldText(name) + toCanonicalJson(object[name], depth + 1);
  }
  return text === '' ? '{}' : `${text}}`;
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
  let text: string;
  try {
    text = toCanonicalJson(value);
  } catch (error) {
    if (!(error instanceof NestedTooDeeply)) throw error;
    const problem = `the record is nested deeper than ${DEEPEST} levels`;
    return { hash: toUuid(problem), text: JSON.stringify(problem), record: null, key: null, problem };
  }
  if (UNSTORABLE.test(text)) {
    value = toStorable(value);
    text = toCanonicalJson(value);
  }
  const identified = { hash: toUuid(`${stream.version}:${text}`), text };
  if (!isWireRecord(value)) {
    return { ...identified, record: null, key: null, problem: 'the record is not an object' };
  }
  let problem: string | null = null;
  const key = keyField.read(value[stream.keyField], (why) => {
    problem = `no usable ${stream.keyField}: ${why}`;
  });
  if (key === null) problem ??= `no usable ${stream.keyField}: it is absent`;
  return { ...identified, record: value, key, problem: key === null ? problem : null };
}

/** What stays the same when a record's key is repaired; null when the stream or the record has nothing of the kind. */
export function identityOf(stream: StreamDefinition, record: WireRecord | null): string | null {
  if (record === null) return null;
  const parts = stream.identityFields.map((field) => record[field] ?? null);
  return parts.some((part) => part !== null) ? toUuid(JSON.stringify(parts)) : null;
}
