/** Removes secrets from texts: the log from everything it writes, the client from every text of a server. */
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

/** The first characters of a secret, used to look it up; fewer if a secret is shorter. */
const ANCHOR_LENGTH = 8;

function htmlEscaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Every spelling that a secret can have in a text. */
function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    inJson.replaceAll('/', '\\/'),
    encodeURIComponent(secret),
    htmlEscaped(secret),
    Buffer.from(secret).toString('base64'),
  ];
}

function commonLength(text: string, at: number, needle: string): number {
  let length = 0;
  while (length < needle.length && text[at + length] === needle[length]) length += 1;
  return length;
}

/** `secrets` may grow: a new secret is removed from every text from then on. */
export function createRedactor(secrets: readonly string[], options: RedactOptions = {}): Redact {
  let known = secrets.length;
  let redact = buildRedactor(secrets, options);
  return (text) => {
    if (secrets.length !== known) {
      known = secrets.length;
      redact = buildRedactor(secrets, options);
    }
    return redact(text);
  };
}

/** Checks every position of a text once, however many secrets there are. */
function buildRedactor(
  secrets: readonly string[],
  { placeholder = '[secret]', shortestBeginning = Infinity }: RedactOptions = {},
): Redact {
  const needles = [...new Set(secrets.flatMap(spellingsOf))].filter(
    ({ length }) => length >= SHORTEST_SECRET,
  );
  const anchorLength = Math.min(ANCHOR_LENGTH, ...needles.map(({ length }) => length));
  const byAnchor = new Map<string, string[]>();
  const firstCharacters = new Set<number>();
  for (const needle of needles) {
    const anchor = needle.slice(0, anchorLength);
    firstCharacters.add(anchor.charCodeAt(0));
    byAnchor.set(anchor, [...(byAnchor.get(anchor) ?? []), needle]);
  }
  /** Length of the secret, or of the beginning of one, at this position; the longest match is removed as a whole. */
  const secretLength = (text: string, at: number): number => {
    let longest = 0;
    for (const needle of byAnchor.get(text.slice(at, at + anchorLength)) ?? []) {
      const length = commonLength(text, at, needle);
      if ((length === needle.length || length >= shortestBeginning) && length > longest) longest = length;
    }
    return longest;
  };
  return (text) => {
    let clean = '';
    let from = 0;
    for (let at = 0; at + anchorLength <= text.length;) {
      const length = firstCharacters.has(text.charCodeAt(at)) ? secretLength(text, at) : 0;
      if (length === 0) at += 1;
      else {
        clean += text.slice(from, at) + placeholder;
        at += length;
        from = at;
      }
    }
    return from === 0 ? text : clean + text.slice(from);
  };
}
