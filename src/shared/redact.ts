/** Removes secrets from texts: the log from everything it writes, the client from every text of a server. */
import { escapeMarkup } from './escape-markup.ts';

export type Redact = (text: string) => string;

interface RedactOptions {
  /** The replacement of a secret. */
  readonly placeholder?: string;
  /**
   * Minimum length at which the beginning of a secret is removed too, because servers, proxies and this program shorten
   * texts.
   */
  readonly shortestBeginning?: number;
}

/** A shorter secret is an everyday word, and a text without that word would be unreadable. */
const SHORTEST_SECRET = 4;

/** Every spelling that a secret can have in a text. */
function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    inJson.replaceAll('/', '\\/'),
    encodeURIComponent(secret),
    escapeMarkup(secret),
    Buffer.from(secret).toString('base64'),
  ];
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Matches this many characters of a text, and as many of the others as follow them. */
const beginningOf = (text: string, least: number): string =>
  literal(text.slice(0, least)) +
  Array.from(text.slice(least)).reduceRight((rest, character) => `(?:${literal(character)}${rest})?`, '');

/** Whole secrets first, the longest before those that it begins with. */
function patternOf(secrets: readonly string[], least: number): RegExp | null {
  const spellings = [...new Set(secrets.flatMap(spellingsOf))]
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.length - one.length);
  const beginnings = spellings.filter(({ length }) => length > least).map((one) => beginningOf(one, least));
  const all = [...spellings.map(literal), ...beginnings];
  return all.length === 0 ? null : new RegExp(all.join('|'), 'g');
}

/** `secrets` may grow: a new secret is removed from every text from then on. */
export function createRedactor(
  secrets: readonly string[],
  { placeholder = '[secret]', shortestBeginning = Infinity }: RedactOptions = {},
): Redact {
  let known = -1;
  let pattern: RegExp | null = null;
  return (text) => {
    if (secrets.length !== known) {
      known = secrets.length;
      pattern = patternOf(secrets, shortestBeginning);
    }
    return pattern === null ? text : text.replace(pattern, () => placeholder);
  };
}
