/** Takes secrets out of texts: the log does so with everything it writes, the client with everything a server says. */
export type Redact = (text: string) => string;

interface RedactOptions {
  /** What stands in a secret's place. */
  readonly placeholder?: string;
  /** From how many characters on also the beginning of a secret is taken out: texts are cut by servers, proxies and by us. */
  readonly shortestBeginning?: number;
}

/** A shorter one is an everyday word: without it a text would say nothing. */
const SHORTEST_SECRET = 4;

/** The first characters by which a secret is looked up; fewer where a secret is shorter. */
const ANCHOR_LENGTH = 8;

function htmlEscaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Every spelling in which a secret can stand in a text. */
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

/** `secrets` may grow: a new one is taken out of every text from then on. */
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

/** Looks at every place of a text once, however many secrets there are. */
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
  /** How much of the text from here on is a secret, or the beginning of one; the longest of them goes as a whole. */
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
