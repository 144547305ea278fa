/**
 * The accounts of the variables and of SAFETY_ACCOUNTS_FILE, a list in YAML or JSON. An entry of the file is the variables of
 * one account under shorter names. Its scalars are taken as their text, as in the environment: `0021` stays `0021`, `off` is no
 * boolean, and a long id loses no digits. No message repeats a text that may be a token.
 */
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { closestMatch } from 'leven';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import { type AccountConfig, buildAccount } from './account-config.ts';
import {
  type Environment,
  isNamed,
  isSet,
  readText,
  type ReadVariables,
  readVariables,
  systemCode,
  withoutUserinfo,
} from './read-variables.ts';
import { cronVariableOf, type VariableValues } from './variables.ts';

/** Any of these makes the variables describe an account, in addition to those of the file. */
const ACCOUNT_VARIABLES = ['SAFETY_BASE_URL', 'SAFETY_TOKEN', 'SAFETY_ACCOUNT', 'SAFETY_EQUIPMENT_TYPES'];

const FILE = 'SAFETY_ACCOUNTS_FILE';
const HINT = ' (lines NAME=value that were pasted into a shell need export before them)';

/** The variable of each key of an entry. */
const KEYS: Readonly<Record<string, string>> = {
  name: 'SAFETY_ACCOUNT',
  base_url: 'SAFETY_BASE_URL',
  token: 'SAFETY_TOKEN',
  token_file: 'SAFETY_TOKEN_FILE',
  equipment_types: 'SAFETY_EQUIPMENT_TYPES',
  reporting_timezone: 'REPORTING_TIMEZONE',
  report_title: 'REPORT_TITLE',
  report_email_to: 'REPORT_EMAIL_TO',
  allow_insecure_http: 'SAFETY_ALLOW_INSECURE_HTTP',
  'schedule.all': 'SYNC_CRON',
  ...Object.fromEntries(STREAM_NAMES.map((name) => [`schedule.${name}`, cronVariableOf(name)])),
  'schedule.reconcile': 'RECONCILE_CRON',
  'schedule.timezone': 'SYNC_TIMEZONE',
};
const KEY_OF = new Map(Object.entries(KEYS).map(([key, variable]) => [variable, key]));

const isMap = (content: unknown): content is Readonly<Record<string, unknown>> =>
  typeof content === 'object' && content !== null && !Array.isArray(content);

/** Keys and values of an entry; those of its schedule as `schedule.users`. `schedule: off`: only by hand. */
const flatten = (content: Readonly<Record<string, unknown>>): [key: string, value: unknown][] =>
  Object.entries(content).flatMap(([key, value]): [string, unknown][] => {
    if (key !== 'schedule') return [[key, value]];
    const schedule = isMap(value) ? value : { all: value, ...(value === 'off' ? { reconcile: 'off' } : {}) };
    return Object.entries(schedule).map(([inner, cron]) => [`schedule.${inner}`, cron]);
  });

/** The name if it is usable, the token as it is written or in its file, and the account. `outer`: the variables of the process. */
function readEntry(content: unknown, folder: string, outer: VariableValues) {
  if (!isMap(content)) return { problems: ['expected a map with name, base_url and token'] };
  const unusable: string[] = [];
  const env: Record<string, string> = {};
  for (const [key, value] of flatten(content)) {
    const variable = KEYS[key];
    const text = Array.isArray(value) ? value.join(',') : (value ?? '');
    if (variable === undefined) {
      const meant = closestMatch(key, Object.keys(KEYS), { maxDistance: 2 });
      const advice =
        meant === undefined ? `there are ${Object.keys(KEYS).join(', ')}` : `did you mean ${meant}?`;
      unusable.push(`${key}: no such key, ${advice}`);
    } else if (typeof text !== 'string') unusable.push(`${key}: expected a text, or a list of texts`);
    else if (text !== '') env[variable] = key === 'token_file' ? resolve(folder, text) : text;
  }
  const own = readVariables(env);
  const { problems } = own;
  const set = Object.entries(own.values).filter(([name]) => isSet(env, name));
  // A schedule for all streams goes before those that the variables have for single ones.
  const inherited = Object.entries(outer).filter(
    ([name]) => env['SYNC_CRON'] === undefined || !name.startsWith('SYNC_CRON_'),
  );
  const values = Object.fromEntries([...inherited, ...set]) as unknown as VariableValues;
  if (env['SAFETY_ACCOUNT'] === undefined) problems.push('SAFETY_ACCOUNT is not set: account_id of its rows');
  const name = isNamed(problems, 'SAFETY_ACCOUNT') ? undefined : values.SAFETY_ACCOUNT;
  const reportEmailTo = own.values.REPORT_EMAIL_TO;
  const account = buildAccount(env, { values, problems }, { needsService: true, reportEmailTo });
  const inKeys = (problem: string): string =>
    problem.replace(/([A-Z]+_[A-Z_]+)(=?)/g, (found, variable: string, equals: string) =>
      KEY_OF.has(variable) ? `${KEY_OF.get(variable) ?? ''}${equals && ': '}` : found,
    );
  return {
    name,
    token: env['SAFETY_TOKEN'] ?? own.values.SAFETY_TOKEN,
    account,
    problems: [...unusable, ...problems.map(inKeys)],
  };
}

/**
 * The entries of a file, or the problem with it. Messages of the parser quote the file, and perhaps a token, so only its
 * positions are used.
 */
function readEntries(path: string): readonly unknown[] | string {
  let content: unknown;
  try {
    const lines = new LineCounter();
    const document = parseDocument(readText(path), {
      schema: 'failsafe',
      customTags: ['null'],
      merge: true,
      lineCounter: lines,
    });
    const [error] = document.errors;
    if (error !== undefined)
      return `${path} is neither YAML nor JSON at line ${lines.linePos(error.pos[0]).line}`;
    // The operator wrote the file, so any number of aliases is safe.
    content = document.toJS({ maxAliasCount: -1 });
  } catch (error) {
    return error instanceof ReferenceError
      ? `${path} refers to an anchor that it does not have`
      : `cannot read ${withoutUserinfo(path)} (${systemCode(error)})`;
  }
  return Array.isArray(content) && content.length > 0
    ? content
    : `${path} expected a list of accounts, each with name, base_url and token`;
}

/** Those that are usable: that of the variables, where they describe one, before those of the file. And every token in the file. */
export function findAccounts(env: Environment, read: ReadVariables, needsService: boolean) {
  const { values, problems } = read;
  const path = values.SAFETY_ACCOUNTS_FILE;
  const accounts: AccountConfig[] = [];
  const tokens: string[] = [];
  if (!isSet(env, FILE) || ACCOUNT_VARIABLES.some((name) => isSet(env, name)))
    accounts.push(buildAccount(env, read, { needsService, hint: HINT }));
  if (path === undefined) return { accounts, tokens };
  const entries = readEntries(path);
  if (typeof entries === 'string') {
    problems.push(`${FILE}: ${entries}`);
    return { accounts, tokens };
  }
  const folder = dirname(resolve(path));
  const names = new Set(accounts.map(({ accountId }) => accountId));
  for (const [index, content] of entries.entries()) {
    const { name, token, account, problems: found } = readEntry(content, folder, values);
    const label = `${FILE}, entry ${index + 1}${name === undefined ? '' : ` (${name})`}`;
    problems.push(...found.map((problem) => `${label}, ${problem}`));
    if (token !== undefined) tokens.push(token);
    if (name !== undefined) {
      if (names.has(name)) problems.push(`${label}, name: expected one of its own, another account has it`);
      names.add(name);
    }
    if (account !== undefined) accounts.push(account);
  }
  return { accounts, tokens };
}
