/** Keyed hashes in the place of protected texts: equal texts have equal hashes, and a comparison needs the secret. */
import { createHmac, hash } from 'node:crypto';

export type Pseudonyms = Readonly<ReturnType<typeof createPseudonyms>>;

/** Also of a shortened one. */
export const PSEUDONYM_PREFIX = 'pseudonym:';
const HEX_DIGITS = 32;
const PSEUDONYM = /^pseudonym:[0-9a-f]{32}$/;

/** Shortens pseudonyms for a page: eight digits distinguish them. */
export const shortenPseudonyms = (text: string): string =>
  text.replace(/pseudonym:[0-9a-f]{32}/g, (one) => `${one.slice(0, PSEUDONYM_PREFIX.length + 8)}…`);

export const isPseudonym = (text: string): boolean => PSEUDONYM.test(text);

/** Number of values with a cached pseudonym, because values repeat. */
const MOST_KNOWN = 50_000;

export function createPseudonyms(secret: string) {
  const known = new Map<string, string>();
  const hmac = (text: string): string =>
    createHmac('sha256', secret).update(text).digest('hex').slice(0, HEX_DIGITS);
  return {
    /** Returns a pseudonym unchanged, because stored values are processed again. */
    of(text: string): string {
      if (isPseudonym(text)) return text;
      let pseudonym = known.get(text);
      if (pseudonym === undefined) {
        pseudonym = PSEUDONYM_PREFIX + hmac(text);
        if (known.size >= MOST_KNOWN) known.clear();
        known.set(text, pseudonym);
      }
      return pseudonym;
    },
    /** Identifies the secret without disclosing it. */
    secretId: hash('sha256', hmac('safety-sync: which key this is')).slice(0, HEX_DIGITS),
  };
}
