/** Finds forgotten people in received data: only keyed hashes of their ids and names are known. */
import type { Pseudonyms } from '../../shared/pseudonym.ts';

/** An id or a name of a person, as its pseudonym. */
export interface ForgottenText {
  readonly pseudonym: string;
  /** The replacement: the pseudonym of the person's id. */
  readonly person: string;
  /** null: the text is an id. Otherwise the number of words of a name. */
  readonly words: number | null;
}

export interface People {
  /** Returns the replacement of an id; undefined: the id is not one of a forgotten person. */
  readonly ofId: (id: string) => string | undefined;
  /** Like `ofId`, for a number; a number with few digits is no identifier. */
  readonly ofLongNumber: (number: string) => string | undefined;
  /** Returns the text without their ids and names. */
  readonly inText: (text: string) => string;
  /** Like `inText`, for places where a short id, or a number alone, means something else. */
  readonly amongWords: (text: string) => string;
}

/** A word, with accents in any notation. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Separator between two segments of an id. */
const JOINT = /^[_@.-]$/;
/** Maximum number of segments of an id inside of a text. */
const MOST_SEGMENTS = 6;
const isDigits = (text: string): boolean => /^\d+$/.test(text);
/** Shorter ids and shorter numbers also mean other things. */
const isDistinctive = (id: string): boolean => id.length >= (isDigits(id) ? 8 : 6);

/**
 * One character in the notation of an address or a page (`%C3%85`, `&Aring;`, `&#229;`), and a hyphen that is visible only
 * at the end of a line.
 */
const ENCODED = /%[0-7][\da-f]|%[c-f][\da-f](?:%[89ab][\da-f])+|&#?\w{1,10};|\u00ad/gi;
const MARKED_UP = new RegExp(`</?[a-z][^<>]*>|${ENCODED.source}`, 'gi');
const LETTERS: Readonly<Record<string, string>> = {
  aelig: 'æ',
  eth: 'ð',
  oslash: 'ø',
  shy: '',
  szlig: 'ß',
  thorn: 'þ',
};
/** Accents are not compared: the letter is sufficient. */
const ACCENTED = /^([a-z])(?:grave|acute|circ|tilde|uml|ring|cedil|caron)$/;

function decodeUnit(unit: string): string {
  if (unit === '\u00ad') return '';
  if (unit.startsWith('%')) {
    try {
      return decodeURIComponent(unit);
    } catch {
      return unit;
    }
  }
  if (unit.startsWith('<')) return ' ';
  const name = unit.slice(1, -1).toLowerCase();
  if (!name.startsWith('#')) return LETTERS[name] ?? ACCENTED.exec(name)?.[1] ?? ' ';
  const code = Number(name.replace('#x', '0x').replace('#', ''));
  if (!(code <= 0x10ffff)) return ' ';
  return code === 0xad ? '' : String.fromCodePoint(code);
}

interface Reading {
  readonly text: string;
  /** For each character, and for the end of the text: its position in the written text; undefined: it is the written text. */
  readonly positions?: Uint32Array;
}

/** The text with these units decoded; undefined: it has none. */
function readAs(units: RegExp, written: string): Reading | undefined {
  if (written.search(units) < 0) return undefined;
  // Decoding makes no text longer.
  const positions = new Uint32Array(written.length + 1);
  let [text, taken] = ['', 0];
  for (const { 0: unit, index } of written.matchAll(units)) {
    for (let at = taken; at < index; at += 1) positions[text.length + at - taken] = at;
    text += written.slice(taken, index);
    const decoded = decodeUnit(unit);
    positions.fill(index, text.length, text.length + decoded.length);
    text += decoded;
    taken = index + unit.length;
  }
  for (let at = taken; at <= written.length; at += 1) positions[text.length + at - taken] = at;
  return { text: text + written.slice(taken), positions };
}

const withoutAccents = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
const toNameText = (words: readonly string[]): string => `name ${words.map(withoutAccents).join(' ')}`;
/**
 * The text of an id in small letters, because an id in capitals is the same id; undefined: the id is only a number, or too
 * short for that.
 */
const toIdText = (id: string): string | undefined =>
  isDistinctive(id) && !isDigits(id) ? `id ${id.toLowerCase()}` : undefined;

/** The words rotated to begin at each of them: "Lopez Maria" for "Maria Lopez". */
const rotationsOf = (words: readonly string[]): string[][] =>
  words.map((_, at) => [...words.slice(at), ...words.slice(0, at)]);

/** A name of one word is not searched in texts, because all people with that name have it. */
export const isSearched = (name: string): boolean =>
  (name.match(WORD) ?? []).length > 1 && name.trim().split(/[\s,]+/).length > 1;

/** Texts that identify a person. */
export function forgottenTexts(
  pseudonyms: Pseudonyms,
  { id, names }: { readonly id: string; readonly names: readonly string[] },
): ForgottenText[] {
  const person = pseudonyms.of(id);
  const known = new Map<string, number | null>([[person, null]]);
  const idText = toIdText(id);
  if (idText !== undefined) known.set(pseudonyms.of(idText), null);
  for (const name of names) {
    if (!isSearched(name)) continue;
    const words = name.match(WORD) ?? [];
    for (const one of rotationsOf(words)) known.set(pseudonyms.of(toNameText(one)), words.length);
  }
  return [...known].map(([pseudonym, words]) => ({ pseudonym, person, words }));
}

interface Met {
  readonly person: string;
  /** The number of its words. */
  readonly count: number;
}

/** null: the account has no forgotten people. */
export function createPeople(pseudonyms: Pseudonyms, forgotten: readonly ForgottenText[]): People | null {
  if (forgotten.length === 0) return null;
  const persons = new Map(forgotten.map(({ pseudonym, person }) => [pseudonym, person]));
  const lengths = [...new Set(forgotten.flatMap(({ words }) => words ?? []))].sort((a, b) => b - a);
  const personOf = (text: string): string | undefined => persons.get(pseudonyms.of(text));

  function ofId(received: string): string | undefined {
    const id = received.trim();
    const idText = toIdText(id);
    return personOf(id) ?? (idText === undefined ? undefined : personOf(idText));
  }
  const ofDistinctive = (id: string): string | undefined => (isDistinctive(id) ? ofId(id) : undefined);

  function meetName(words: readonly string[], at: number): Met | undefined {
    for (const count of lengths) {
      if (at + count > words.length) continue;
      const person = personOf(toNameText(words.slice(at, at + count)));
      if (person !== undefined) return { person, count };
    }
    return undefined;
  }

  /** The longest id that begins at this word. */
  function meetId(text: string, found: readonly RegExpExecArray[], at: number): Met | undefined {
    const start = found[at]?.index ?? 0;
    const ends: number[] = [];
    for (let to = at; to < at + MOST_SEGMENTS; to += 1) {
      const [word, next] = [found[to], found[to + 1]];
      if (word === undefined) break;
      const end = word.index + word[0].length;
      ends.push(end);
      if (next === undefined || !JOINT.test(text.slice(end, next.index))) break;
    }
    for (let count = ends.length; count > 0; count -= 1) {
      const person = ofDistinctive(text.slice(start, ends[count - 1]));
      if (person !== undefined) return { person, count };
    }
    return undefined;
  }

  function inReading(written: string, { text, positions }: Reading): string {
    const toWritten = (at: number): number => positions?.[at] ?? at;
    const found = [...text.matchAll(WORD)];
    const words = found.map(([word]) => word);
    let made = '';
    let taken = 0;
    for (let at = 0; at < words.length; at += 1) {
      const met = meetName(words, at) ?? meetId(text, found, at);
      const [first, last] = [found[at], found[at + (met?.count ?? 1) - 1]];
      if (met === undefined || first === undefined || last === undefined) continue;
      made += written.slice(taken, toWritten(first.index)) + met.person;
      taken = toWritten(last.index + last[0].length);
      at += met.count - 1;
    }
    return taken === 0 ? written : made + written.slice(taken);
  }

  /** The written text is processed last, because a name within a tag is visible only there. */
  function inWords(text: string): string {
    let kept = text;
    for (const units of text.includes('<') ? [MARKED_UP, ENCODED] : [ENCODED]) {
      const reading = readAs(units, kept);
      if (reading !== undefined) kept = inReading(kept, reading);
    }
    return inReading(kept, { text: kept });
  }

  return {
    ofId,
    ofLongNumber: ofDistinctive,
    inText: (text) => ofId(text) ?? inWords(text),
    amongWords: (text) => (isDigits(text.trim()) ? text : inWords(text)),
  };
}
