/** Finds people that were forgotten in what the source sends of them: only keyed hashes of their ids and names are known. */
import type { Pseudonyms } from '../shared/pseudonym.ts';

/** An id or a name of somebody, as its pseudonym. */
export interface ForgottenText {
  readonly pseudonym: string;
  /** What stands in its place: the pseudonym of the person's id. */
  readonly person: string;
  /** null: an id. Of a name: how many words it has. */
  readonly words: number | null;
}

interface People {
  /** What stands in the place of the id; undefined: it is not one of theirs. */
  ofId(id: string): string | undefined;
  /** The text without their ids and names. */
  readonly inText: (text: string) => string;
  /** The same where a short id means something else. */
  readonly amongWords: (text: string) => string;
}

/** What is taken for one word. */
const WORD = /[\p{L}\p{N}]+(?:[_@.-][\p{L}\p{N}]+)*/gu;
/** A shorter id, or a shorter number, also means other things. */
const isDistinctive = (word: string): boolean => word.length >= (/^\d+$/.test(word) ? 8 : 6);

const wordsOf = (text: string): string[] => text.match(WORD) ?? [];
const toNameText = (words: readonly string[]): string =>
  `name ${words.join(' ').normalize('NFC').toLowerCase()}`;

/** Texts by which somebody is recognized. A name of one word is everybody's who has it. */
export function forgottenTexts(
  pseudonyms: Pseudonyms,
  { id, name }: { readonly id: string; readonly name: string | null },
): ForgottenText[] {
  const person = pseudonyms.of(id);
  const words = wordsOf(name ?? '');
  const last = words.at(-1) ?? '';
  const names = words.length < 2 ? [] : [words, [last, ...words.slice(0, -1)]];
  return [
    { pseudonym: person, person, words: null },
    ...names.map((one) => ({ pseudonym: pseudonyms.of(toNameText(one)), person, words: one.length })),
  ];
}

/** null: nobody was forgotten. */
export function createPeople(pseudonyms: Pseudonyms, forgotten: readonly ForgottenText[]): People | null {
  if (forgotten.length === 0) return null;
  const persons = new Map(forgotten.map(({ pseudonym, person }) => [pseudonym, person]));
  const lengths = [...new Set(forgotten.flatMap(({ words }) => words ?? []))].sort((a, b) => b - a);
  const ofId = (id: string): string | undefined => persons.get(pseudonyms.of(id));

  /** The person whose id or name begins at this word, and how many words that takes. */
  function meet(words: readonly string[], at: number): { person: string; count: number } | undefined {
    for (const count of lengths) {
      if (at + count > words.length) continue;
      const person = persons.get(pseudonyms.of(toNameText(words.slice(at, at + count))));
      if (person !== undefined) return { person, count };
    }
    const word = words[at] ?? '';
    const person = isDistinctive(word) ? ofId(word) : undefined;
    return person === undefined ? undefined : { person, count: 1 };
  }

  function amongWords(text: string): string {
    const found = [...text.matchAll(WORD)];
    const words = found.map(([word]) => word);
    let made = '';
    let taken = 0;
    for (let at = 0; at < words.length; at += 1) {
      const met = meet(words, at);
      const [first, last] = [found[at], found[at + (met?.count ?? 1) - 1]];
      if (met === undefined || first === undefined || last === undefined) continue;
      made += text.slice(taken, first.index) + met.person;
      taken = last.index + last[0].length;
      at += met.count - 1;
    }
    return taken === 0 ? text : made + text.slice(taken);
  }

  return { ofId, inText: (text) => ofId(text) ?? amongWords(text), amongWords };
}
