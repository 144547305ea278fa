/** DATABASE_URL: its problems, found without a connection, and a password that is replaced in its file. */
import { parseDatabaseUrl } from '../engine/database/database-url.ts';

/** undefined: PostgreSQL may judge the rest. A text of another form is judged by `value-forms.ts`. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//i.test(text)) return undefined;
  try {
    parseDatabaseUrl(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const withoutPassword = (url: string): string =>
  JSON.stringify({ ...parseDatabaseUrl(url), password: undefined });

/**
 * The URL with the password that its file holds now. Other changes of the file wait for a restart, because the pool and
 * the sessions of runs must be of one database.
 */
export function createUrlReader(
  url: string,
  { readFile, onNew }: { readonly readFile: () => string | undefined; readonly onNew: (url: string) => void },
): () => string {
  let current = url;
  return () => {
    const read = readFile();
    const isUsable = read !== undefined && read !== current && databaseUrlProblem(read) === undefined;
    if (isUsable && withoutPassword(read) === withoutPassword(url)) {
      current = read;
      onNew(read);
    }
    return current;
  };
}
