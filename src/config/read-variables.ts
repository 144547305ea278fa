import { readFileSync } from 'node:fs';
import { shownPath, withoutUserinfo } from './shown.ts';
import { VARIABLES, type VariableName, type VariableValue } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadVariables {
  /** undefined: not set and without a default. */
  readonly values: { readonly [Name in VariableName]: VariableValue<Name> | undefined };
  /** One sentence for each bad value. */
  readonly problems: readonly string[];
}

type Source = { readonly text: string; readonly from: string } | { readonly problem: string } | undefined;

/** An empty variable counts as not set: compose files and shells make them. */
function sourceOf(env: Environment, name: VariableName): Source {
  const direct = env[name];
  const path = env[`${name}_FILE`];
  const hasDirect = direct !== undefined && direct !== '';
  if (path === undefined || path === '') return hasDirect ? { text: direct, from: name } : undefined;
  if (hasDirect) return { problem: `${name} and ${name}_FILE are both set: keep one of them` };
  try {
    const text = readFileSync(path, 'utf8').replace(/\s+$/, '');
    return text === ''
      ? { problem: `${name}_FILE: ${withoutUserinfo(path)} is empty` }
      : { text, from: `${name}_FILE` };
  } catch (error) {
    const shown = VARIABLES[name].secret === true ? shownPath(path) : withoutUserinfo(path);
    return { problem: `${name}_FILE: cannot read ${shown} (${String((error as { code?: unknown }).code)})` };
  }
}

/** Reads every variable, from itself or from the file that `NAME_FILE` names; collects all problems. */
export function readVariables(env: Environment): ReadVariables {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, declared] of Object.entries(VARIABLES)) {
    const name = key as VariableName;
    const source = sourceOf(env, name);
    if (source !== undefined && 'problem' in source) {
      problems.push(source.problem);
      continue;
    }
    const text = source?.text ?? declared.default;
    if (text === undefined) continue;
    const problem = declared.problemOf?.(text);
    if (problem !== undefined) {
      problems.push(`${source?.from ?? name}: ${problem}`);
      continue;
    }
    const parsed = declared.schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else {
      const got =
        declared.secret === true ? 'something else (not shown)' : withoutUserinfo(JSON.stringify(text));
      problems.push(`${source?.from ?? name}: expected ${declared.expected}, got ${got}`);
    }
  }
  return { values: values as ReadVariables['values'], problems };
}
