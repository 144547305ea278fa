/** Takes the token, and every form in which a server may echo it, out of a text. */
export type Redact = (text: string) => string;

export const TOKEN_PLACE_HOLDER = '[token]';

/** A beginning of the token this long is taken out too: texts are cut by servers, proxies and by us. */
const SHORTEST_BEGINNING = 12;

function replaceBeginnings(text: string, secret: string): string {
  const anchor = secret.slice(0, Math.min(SHORTEST_BEGINNING, secret.length));
  let rest = text;
  let safe = '';
  for (let at = rest.indexOf(anchor); at !== -1; at = rest.indexOf(anchor)) {
    let length = anchor.length;
    while (length < secret.length && rest[at + length] === secret[length]) length += 1;
    safe += rest.slice(0, at) + TOKEN_PLACE_HOLDER;
    rest = rest.slice(at + length);
  }
  return safe + rest;
}

function htmlEscaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

export function createTokenRedactor(token: string): Redact {
  if (token === '') return (text) => text;
  const forms = new Set([
    token,
    JSON.stringify(token).slice(1, -1),
    JSON.stringify(token).slice(1, -1).replaceAll('/', '\\/'),
    encodeURIComponent(token),
    htmlEscaped(token),
    Buffer.from(token).toString('base64'),
  ]);
  return (text) => [...forms].reduce(replaceBeginnings, text);
}
