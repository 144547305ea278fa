/** Problems with a database URL, found without a connection. A message never repeats a part of the URL. */

const ENCODING =
  'in user and password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F and % as %25; the password p@ss/word is p%40ss%2Fword';

/** undefined: PostgreSQL may judge the rest. */
export function databaseUrlProblem(text: string): string | undefined {
  const [, rest] = /^postgres(?:ql)?:\/\/([^]*)$/i.exec(text) ?? [];
  if (rest === undefined) return undefined;
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  const signs = rest.split('@').length - 1;
  // The driver would read a part of the password as the host, because a second @, or one after a /, belongs to the password.
  if (signs > 1 || (signs === 1 && !authority.includes('@'))) {
    return `user or password hold a character that ends them too early (the value is not shown): ${ENCODING}`;
  }
  // Locks and staging belong to one server; the driver would silently stay with the first.
  if (/,/.test(authority.slice(authority.lastIndexOf('@') + 1))) {
    return 'names several hosts (the value is not shown): name one, or an address that always leads to the server in charge';
  }
  if (!URL.canParse(text)) return `is not a URL that can be read (the value is not shown): ${ENCODING}`;
  try {
    decodeURIComponent(authority);
    return undefined;
  } catch {
    return `a % that begins no code such as %40 must be written %25 (the value is not shown): ${ENCODING}`;
  }
}

/**
 * The URL with the password that its file holds now. Other changes of the file wait for a restart, because the pool and
 * the sessions of runs must be of one database.
 */
export function createUrlReader(
  url: string,
  { readFile, onNew }: { readonly readFile: () => string | undefined; readonly onNew: (url: string) => void },
): () => string {
  let current = url;
  const withoutPassword = (text: string): string => {
    const parsed = new URL(text);
    parsed.password = '';
    return parsed.href;
  };
  return () => {
    const read = readFile();
    const isUsable = read !== undefined && read !== current && databaseUrlProblem(read) === undefined;
    if (isUsable && URL.canParse(read) && withoutPassword(read) === withoutPassword(current)) {
      current = read;
      onNew(read);
    }
    return current;
  };
}
