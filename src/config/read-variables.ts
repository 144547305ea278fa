import { readFileSync } from 'node:fs';
import { parseDatabaseUrl } from '../engine/database/database-url.ts';
import { SECRETS, token, VARIABLES, type VariableValues } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type ReadVariables = Readonly<ReturnType<typeof readVariables>>;

/** Whether there is already a problem with this variable, or with one of this prefix. */
export const isNamed = (problems: readonly string[], variable: string): boolean =>
  problems.some((problem) => problem.startsWith(variable));

/** Adds a problem where a variable that is needed is not set; one that is not usable has a problem already. */
export function requireSet(read: ReadVariables, name: keyof VariableValues, why: string): void {
  if (read.values[name] === undefined && !isNamed(read.problems, name))
    read.problems.push(`${name} is not set: ${why}`);
}

/** `ENOENT` */
export const systemCode = (error: unknown): string => String((error as { code?: unknown }).code);

/** URLs without user and password, up to the last @: a secret may be in the wrong variable. */
export function withoutUserinfo(text: string): string {
  return text.replace(/\b([a-z][\w+.-]*:\/\/)[^\s"]*@/gi, '$1[secret]@');
}

/** Without a byte order mark. Throws the errors of reading. */
export const readText = (path: string): string => new TextDecoder().decode(readFileSync(path));

/** The present text of a file with a secret; undefined: it cannot be read, or is empty. */
function readSecretFile(path: string): string | undefined {
  try {
    return readText(path).trimEnd() || undefined;
  } catch {
    return undefined;
  }
}

/** The present token of a file; undefined also for a text that is no token, because the file may be half written. */
export const readTokenFile = (path: string): string | undefined => token.safeParse(readSecretFile(path)).data;

/** undefined: PostgreSQL may judge the rest. A text of another form is judged by the form of the variable. */
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
export function createUrlReader(url: string, file: string | undefined, onNew: (url: string) => void) {
  let current = url;
  return (): string => {
    const read = file === undefined ? undefined : readSecretFile(file);
    const isUsable = read !== undefined && read !== current && databaseUrlProblem(read) === undefined;
    if (isUsable && withoutPassword(read) === withoutPassword(url)) {
      current = read;
      onNew(read);
    }
    return current;
  };
}

/** Whether there is a text for it, usable or not. An empty variable is not set. */
export const isSet = (env: Environment, name: string): boolean =>
  (env[name] ?? '') !== '' || (env[`${name}_FILE`] ?? '') !== '';

/** Reads every variable, from itself or from the file that `NAME_FILE` names; collects all problems. */
export function readVariables(env: Environment) {
  /** The default, where a variable is not set or not usable. */
  const values: Record<string, unknown> = {};
  /** One sentence for each bad value; the further checks add theirs. */
  const problems: string[] = [];
  /** undefined: not set, or a problem. */
  function textOf(name: string): string | undefined {
    const [direct = '', path = ''] = [env[name], env[`${name}_FILE`]];
    if (path === '') return direct === '' ? undefined : direct;
    if (direct !== '') {
      problems.push(`${name} and ${name}_FILE are both set: keep one of them`);
      return undefined;
    }
    try {
      const text = readText(path).trimEnd();
      if (text !== '') return text;
      problems.push(`${name}_FILE: the file is empty`);
    } catch (error) {
      // The path of a secret may be the secret itself, set in the place of the path.
      const shown = SECRETS.includes(name) ? 'the file that it names' : withoutUserinfo(path);
      problems.push(`${name}_FILE: cannot read ${shown} (${systemCode(error)})`);
    }
    return undefined;
  }
  for (const [name, schema] of Object.entries(VARIABLES)) {
    const text = textOf(name);
    const parsed = schema.safeParse(text);
    const problem = name === 'DATABASE_URL' ? databaseUrlProblem(text ?? '') : undefined;
    if (problem === undefined && parsed.success) values[name] = parsed.data;
    else {
      values[name] = schema.parse(undefined);
      const got = SECRETS.includes(name)
        ? 'something else (not shown)'
        : withoutUserinfo(JSON.stringify(text));
      const from = (env[name] ?? '') === '' ? `${name}_FILE` : name;
      problems.push(`${from}: ${problem ?? `expected ${String(schema.unwrap().description)}, got ${got}`}`);
    }
  }
  return { values: values as VariableValues, problems };
}
