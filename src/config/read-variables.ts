import { readFileSync } from 'node:fs';
import { token } from './value-forms.ts';
import { VARIABLES, type VariableValues } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadVariables {
  /** The default, where a variable is not set or not usable. */
  readonly values: VariableValues;
  /** One sentence for each bad value; the further checks add theirs. */
  readonly problems: string[];
}

/** Whether there is already a problem with this variable, or with one of this prefix. */
export const isNamed = (problems: readonly string[], variable: string): boolean =>
  problems.some((problem) => problem.startsWith(variable));

/** `ENOENT` */
export const systemCode = (error: unknown): string => String((error as { code?: unknown }).code);

/* Errors repeat at most a part of a setting, because a secret may be in the wrong variable. */

/** Tokens and passwords are rarely shorter than this, and relative paths rarely longer. */
const SHORT = 20;

/** URLs without user and password, up to the last @. */
export function withoutUserinfo(text: string): string {
  return text.replace(/\b([a-z][\w+.-]*:\/\/)[^\s"]*@/gi, '$1[secret]@');
}

/** The path of a file that holds a secret, unless it could be the secret itself, set in the place of the path. */
export function shownPath(path: string, full: string = path): string {
  const isPath = /^([./~\\]|[a-z]:[\\/])/i.test(path) || path.length < SHORT;
  return isPath ? full : 'the file that it names (not shown: it may be the secret itself)';
}

/** Without a byte order mark. Throws the errors of reading. */
export const readText = (path: string): string => readFileSync(path, 'utf8').replace(/^\uFEFF/, '');

type VariableSource =
  { readonly text: string; readonly from: string } | { readonly problem: string } | undefined;

/** An empty variable counts as not set: compose files and shells make them. */
function sourceOf(env: Environment, name: string, isSecret: boolean): VariableSource {
  const direct = env[name];
  const path = env[`${name}_FILE`];
  const hasDirect = direct !== undefined && direct !== '';
  if (path === undefined || path === '') return hasDirect ? { text: direct, from: name } : undefined;
  if (hasDirect) return { problem: `${name} and ${name}_FILE are both set: keep one of them` };
  try {
    const text = readText(path).replace(/\s+$/, '');
    return text === ''
      ? { problem: `${name}_FILE: ${withoutUserinfo(path)} is empty` }
      : { text, from: `${name}_FILE` };
  } catch (error) {
    const shown = isSecret ? shownPath(path) : withoutUserinfo(path);
    return { problem: `${name}_FILE: cannot read ${shown} (${systemCode(error)})` };
  }
}

/** The present text of a file with a secret; undefined: it cannot be read, or is empty. */
export function readSecretFile(path: string): string | undefined {
  try {
    const text = readText(path).trimEnd();
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The present token of a file; undefined also for a text that is no token, because the file may be half written. */
export const readTokenFile = (path: string): string | undefined => token.safeParse(readSecretFile(path)).data;

/** Reads every variable, from itself or from the file that `NAME_FILE` names; collects all problems. */
export function readVariables(env: Environment, variables = VARIABLES): ReadVariables {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, declared] of Object.entries(variables)) {
    const { schema, secret, problemOf } = declared;
    if (declared.default !== undefined) values[name] = schema.parse(declared.default);
    const source = sourceOf(env, name, secret);
    if (source === undefined) continue;
    if ('problem' in source) {
      problems.push(source.problem);
      continue;
    }
    const { text, from } = source;
    const parsed = schema.safeParse(text);
    const problem = problemOf?.(text);
    if (problem === undefined && parsed.success) values[name] = parsed.data;
    else {
      const got = secret ? 'something else (not shown)' : withoutUserinfo(JSON.stringify(text));
      problems.push(`${from}: ${problem ?? `expected ${String(schema.description)}, got ${got}`}`);
    }
  }
  return { values: values as VariableValues, problems };
}
