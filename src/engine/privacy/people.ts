/**
 * Finds forgotten people wherever a record may name them, and replaces them: only keyed hashes of their ids and names are known.
 * Pure.
 */
import type { Pseudonyms } from '../../shared/pseudonym.ts';
import type { WireRecord } from '../streams/stream.ts';
import { isWireRecord } from '../streams/wire.ts';

/** An id or a name of a person, as its pseudonym. */
export interface ForgottenText {
  readonly pseudonym: string;
  /** The replacement: the pseudonym of the person's id. */
  readonly person: string;
  /** null: the text is an id. Otherwise the number of words of a name. */
  readonly words: number | null;
}

/** A word of a name. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Candidates for ids in a text, the longest first: an address, a text with dashes, a word. */
const ID_UNITS = [/[\p{L}\p{M}\p{N}_-]+(?:[.@][\p{L}\p{M}\p{N}_-]+)*/gu, /[\p{L}\p{M}\p{N}_-]+/gu, WORD];
const isDigits = (text: string): boolean => /^\d+$/.test(text);
/** Shorter ids and shorter numbers also mean other things. */
const isDistinctive = (id: string): boolean => id.length >= (isDigits(id) ? 8 : 6);

/** Accents are not compared: they come in two notations. */
const toNameText = (words: readonly string[]): string =>
  `name ${words.join(' ').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()}`;
const partsOf = (name: string): string[] => name.trim().split(/[\s,]+/);

/** The words of "Maria Lopez", and of "Lopez, Maria". */
const ordersOf = (parts: readonly string[]): string[][] =>
  [parts, [...parts.slice(-1), ...parts.slice(0, -1)]].map((order) => order.join(' ').match(WORD) ?? []);

/** A name of one word is not searched in texts, because all people with that name have it. */
export const isSearched = (name: string): boolean => partsOf(name).length > 1;

/** Texts that identify a person. */
export function forgottenTexts(
  pseudonyms: Pseudonyms,
  { id, names }: { readonly id: string; readonly names: readonly string[] },
): ForgottenText[] {
  const person = pseudonyms.of(id);
  const known = new Map<string, number | null>([[person, null]]);
  for (const words of names.filter(isSearched).map(partsOf).flatMap(ordersOf))
    known.set(pseudonyms.of(toNameText(words)), words.length);
  return [...known].map(([pseudonym, words]) => ({ pseudonym, person, words }));
}

/** null: the field is removed. */
type FieldChange = (value: unknown, name: string) => readonly [name: string, value: unknown] | null;

/** Returns the record itself if no field changes. */
export function changeFields<Fields extends WireRecord>(record: Fields, change: FieldChange): Fields {
  const before = Object.entries(record);
  const after = before.map(([name, value]) => change(value, name));
  if (after.every((field, at) => field?.[0] === before[at]?.[0] && field?.[1] === before[at]?.[1]))
    return record;
  return Object.fromEntries(after.filter((field) => field !== null)) as Fields;
}

export function mapEach(list: readonly unknown[], change: (one: unknown) => unknown): readonly unknown[] {
  const changed = list.map((one) => (one === null ? null : change(one)));
  return changed.every((one, at) => one === list[at]) ? list : changed;
}

/** The service's names for fields with ids of people. */
const isUserField = (name: string): boolean => /^m_\w*ids?$/.test(name);

/** Finds the forgotten people of an account. Values that name none are returned as they are. */
export function createPeople(pseudonyms: Pseudonyms | null, forgotten: readonly ForgottenText[]) {
  const persons = new Map(forgotten.map(({ pseudonym, person }) => [pseudonym, person]));
  const lengths = [...new Set(forgotten.flatMap(({ words }) => words ?? []))].sort((a, b) => b - a);
  const personOf = (text: string): string | undefined =>
    persons.size === 0 ? undefined : persons.get(pseudonyms?.of(text) ?? text);
  /** Returns the replacement of an id; undefined: it is not one of a forgotten person. */
  const ofId = (id: string): string | undefined => personOf(id.trim());

  /** The whole name as words, in upper or lower case. */
  function withoutNames(text: string): string {
    const words = [...text.matchAll(WORD)];
    let [made, taken] = ['', 0];
    for (let at = 0; at < words.length; at += 1) {
      for (const count of lengths) {
        const [first, last] = [words[at], words[at + count - 1]];
        if (first === undefined || last === undefined) continue;
        const person = personOf(toNameText(words.slice(at, at + count).map(([word]) => word)));
        if (person === undefined) continue;
        made += text.slice(taken, first.index) + person;
        taken = last.index + last[0].length;
        at += count - 1;
        break;
      }
    }
    return made + text.slice(taken);
  }
  const withoutIds = (text: string, [units, ...smaller] = ID_UNITS): string =>
    units === undefined
      ? text
      : text.replace(units, (unit) => (isDistinctive(unit) ? ofId(unit) : null) ?? withoutIds(unit, smaller));

  /** People in a value of any form. `isTyped`: its numbers, and texts of digits, are not ids of people. */
  function find(value: unknown, isTyped = false): unknown {
    if (persons.size === 0) return value;
    if (typeof value === 'string') {
      if (isTyped && isDigits(value.trim())) return value;
      return (isTyped ? undefined : ofId(value)) ?? withoutNames(withoutIds(value));
    }
    if (typeof value === 'number') return isTyped ? value : (ofId(String(value)) ?? value);
    if (Array.isArray(value)) return mapEach(value, (one) => find(one, isTyped));
    return isWireRecord(value) ? changeFields(value, (inner, name) => inField(inner, name, isTyped)) : value;
  }

  /** People in a value that should be one id or a list. */
  function ofUsers(value: unknown): unknown {
    if (Array.isArray(value)) return mapEach(value, ofUsers);
    const isId = typeof value === 'string' || typeof value === 'number';
    return (isId ? ofId(String(value)) : undefined) ?? find(value);
  }

  /** People in a field that the specification does not name, and in its name. */
  const inField = (value: unknown, name: string, isTyped = false): readonly [string, unknown] => [
    persons.size === 0 ? name : withoutNames(withoutIds(name)),
    isUserField(name) ? ofUsers(value) : find(value, isTyped),
  ];

  return { ofId, find, ofUsers, inField };
}
