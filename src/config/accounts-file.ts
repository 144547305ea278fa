/**
 * The file of `SAFETY_ACCOUNTS_FILE`: a list of accounts in YAML or JSON. Scalars are taken as their text, as in the
 * environment: `0021` stays `0021`, `off` is no boolean, and a long id loses no digits. Problems name entry and key;
 * neither they nor anything else repeats what stands in the file where it may be a token.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import type { AccountConfig } from './account-config.ts';
import { type AccountDefaults, parseAccountEntry } from './account-entry.ts';
import { withoutUserinfo } from './shown.ts';

export interface AccountsFile {
  /** Those that are usable. */
  readonly accounts: readonly AccountConfig[];
  readonly problems: readonly string[];
  /** Every token that was read, to keep it out of messages. */
  readonly tokens: readonly string[];
}

export interface AccountsFileOptions extends AccountDefaults {
  /** Names that accounts outside of the file have. */
  readonly taken: readonly string[];
}

const NAME = 'SAFETY_ACCOUNTS_FILE';

function failed(problem: string): AccountsFile {
  return { accounts: [], problems: [`${NAME}: ${problem}`], tokens: [] };
}

/** Messages of the parser quote the file, and so perhaps a token: its codes and positions do not. */
function parseList(text: string): { readonly list: readonly unknown[] } | { readonly problem: string } {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'failsafe',
    customTags: ['null'],
    merge: true,
    prettyErrors: false,
    lineCounter: lines,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    return {
      problem: `is neither YAML nor JSON at line ${line}, column ${col} (${error.code.toLowerCase().replaceAll('_', ' ')})`,
    };
  }
  // The file is the operator's own: however often it refers to itself, nobody is attacked.
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: -1 });
  } catch {
    return { problem: 'refers to an anchor that it does not have' };
  }
  if (!Array.isArray(content))
    return { problem: 'expected a list of accounts, each with name, base_url and token' };
  if (content.length === 0) return { problem: 'expected at least one account, the list is empty' };
  return { list: content };
}

/** Never throws for what stands in the file. */
export function readAccountsFile(path: string, { taken, ...defaults }: AccountsFileOptions): AccountsFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return failed(`cannot read ${withoutUserinfo(path)} (${String((error as { code?: unknown }).code)})`);
  }
  const parsed = parseList(text);
  if ('problem' in parsed) return failed(`${path} ${parsed.problem}`);
  const accounts: AccountConfig[] = [];
  const problems: string[] = [];
  const tokens: string[] = [];
  const places = new Map(taken.map((name) => [name, 'the one of SAFETY_ACCOUNT']));
  for (const [index, content] of parsed.list.entries()) {
    const entry = parseAccountEntry(content, { ...defaults, folder: dirname(resolve(path)) });
    const place = `entry ${index + 1}${entry.name === null ? '' : ` (${entry.name})`}`;
    problems.push(...entry.problems.map((problem) => `${NAME}, ${place}, ${problem}`));
    if (entry.token !== null) tokens.push(entry.token);
    if (entry.name === null) continue;
    const before = places.get(entry.name);
    if (before !== undefined) {
      problems.push(`${NAME}, ${place}, name: expected one of its own, it is also that of ${before}`);
    } else places.set(entry.name, `entry ${index + 1}`);
    if (entry.account !== null) accounts.push(entry.account);
  }
  return { accounts, problems, tokens };
}
