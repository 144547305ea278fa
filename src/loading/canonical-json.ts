/**
 * JSON with the keys of every object in order: two responses that differ only in order are one record. Made of every record
 * that is ever read, so most of it is about not sorting the same names again.
 */

import { ExactNumber } from '../shared/exact-number.ts';

/** PostgreSQL and our own recursion both end somewhere beyond a thousand levels; no honest record comes near. */
export const DEEPEST = 200;

export class NestedTooDeeply extends Error {}

/** The names of an object's fields: as they came, in order, and as the text that stands before each value. */
interface Form {
  readonly received: readonly string[];
  readonly sorted: readonly string[];
  readonly texts: readonly string[];
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
  const sorted = received.toSorted();
  const texts = sorted.map((name, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const form = { received, sorted, texts };
  if (received.length > MOST_NAMES) return form;
  if (known === undefined) {
    if (forms.size < MOST_FIRST_NAMES) forms.set(received[0] ?? '', [form]);
  } else if (known.length < MOST_OF_ONE_FIRST_NAME) known.push(form);
  return form;
}

/** What an exact number is in the text. */
export type ExactText = (number: ExactNumber) => string;

/** Throws NestedTooDeeply beyond `DEEPEST` levels. */
export function toCanonicalJson(
  value: unknown,
  exactText: ExactText = (number) => number.toJsonText(),
  depth = 0,
): string {
  if (typeof value === 'string') return JSON.stringify(value);
  // JSON has numbers that are infinite here, and no text for them.
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof ExactNumber) return exactText(value);
  if (depth > DEEPEST) throw new NestedTooDeeply();
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += (text === '' ? '[' : ',') + toCanonicalJson(item, exactText, depth + 1);
    return text === '' ? '[]' : `${text}]`;
  }
  const { sorted, texts } = formOf(value);
  for (let at = 0; at < sorted.length; at += 1) {
    const inner = (value as Record<string, unknown>)[sorted[at] ?? ''];
    text += (texts[at] ?? '') + toCanonicalJson(inner, exactText, depth + 1);
  }
  return text === '' ? '{}' : `${text}}`;
}
