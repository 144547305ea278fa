/**
 * The file of `SAFETY_ACCOUNTS_FILE`: a list of accounts in YAML or JSON. Scalars are taken as their text, as in the
 * environment: `0021` stays `0021`, `off` is no boolean, and a long id loses no digits. Problems name entry and key;
 * no message repeats a text of the file that may be a token.
 */
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';
import {
  type AccountConfig,
  baseUrlProblems,
  normalizeBaseUrl,
  type ScheduleConfig,
} from './account-config.ts';
import { readText, shownPath, systemCode, withoutUserinfo } from './read-variables.ts';
import * as value from './value-forms.ts';

/** The defaults of an entry, from the variables. */
export interface AccountDefaults {
  readonly schedule: ScheduleConfig;
  readonly reportingTimezone: string | null;
  readonly reportTitle: string | null;
  readonly allowsInsecureHttp: boolean;
}

export interface FoundAccounts {
  /** Those that are usable. */
  readonly accounts: readonly AccountConfig[];
  /** Every token that was read, to keep it out of messages. */
  readonly tokens: readonly string[];
}

type FileEntry = Readonly<Record<string, unknown>>;

const VARIABLE = 'SAFETY_ACCOUNTS_FILE';

/** The keys of an entry. Documents and error messages list them in this order. */
const KEYS = [
  'name',
  'base_url',
  'token',
  'token_file',
  'equipment_types',
  'schedule',
  'reporting_timezone',
  'report_title',
  'report_email_to',
  'allow_insecure_http',
];

const EQUIPMENT_TYPES = z
  .union([z.array(z.string().min(1)), value.commaList])
  .describe('a list of equipmentType_id values, or such values separated by commas');

const isMap = (content: unknown): content is FileEntry =>
  typeof content === 'object' && content !== null && !Array.isArray(content);
const SCHEDULE_ENTRY = z.custom<FileEntry>(isMap).describe('off, or a map from streams to cron expressions');

interface MapOptions {
  readonly keys: readonly string[];
  readonly required?: readonly string[];
  /** Path of the map in its entry, with a dot at the end, because names of keys are appended. */
  readonly path?: string;
  /** Receives the problems: first the unknown keys, then those of each read value. */
  readonly problems: string[];
}

type MapReader = ReturnType<typeof readMap>;

/** Reads the values of a map key by key. An empty value counts as not set. */
function readMap(content: FileEntry, { keys, required = [], path = '', problems }: MapOptions) {
  const set = Object.entries(content).filter(([, one]) => one != null && one !== '');
  const fields: FileEntry = Object.fromEntries(set);
  const unknown = Object.keys(fields).filter((key) => !keys.includes(key));
  problems.push(...unknown.map((key) => `${path}${key}: no such key; there are ${keys.join(', ')}`));
  function got(key: string): string {
    const found = fields[key];
    if (found === undefined) return 'it is not set';
    if (key === 'token') return 'got something else (not shown)';
    return `got ${typeof found === 'string' ? withoutUserinfo(JSON.stringify(found)) : 'something else'}`;
  }
  /** undefined: not set, or not usable. */
  function read<T>(key: string, form: z.ZodType<T>): T | undefined {
    if (fields[key] === undefined && !required.includes(key)) return undefined;
    const { data, success } = form.safeParse(fields[key]);
    // zod's own message may repeat the value.
    if (!success) problems.push(`${path}${key}: expected ${String(form.description)}, ${got(key)}`);
    return data;
  }
  return { fields, read };
}

/** The text as it was read, valid or not. */
function readToken({ fields, read }: MapReader, folder: string, problems: string[]) {
  const { token: own } = fields;
  const isInFile = fields['token_file'] !== undefined;
  read('token', value.token);
  const path = read('token_file', value.path('a file that holds the token'));
  if (own !== undefined) {
    if (isInFile) problems.push('token: token_file is set, too: keep one of them');
    return typeof own === 'string' ? { text: own } : {};
  }
  if (!isInFile) problems.push('token: expected a token, or token_file: the path of a file that holds it');
  if (path === undefined) return {};
  const file = resolve(folder, path);
  try {
    const text = readText(file).replace(/\s+$/, '');
    if (!value.token.safeParse(text).success) {
      const expected = String(value.token.description);
      problems.push(`token_file: expected ${expected} in ${file}, got something else (not shown)`);
    }
    return { text, file };
  } catch (error) {
    problems.push(`token_file: cannot read ${shownPath(path, file)} (${systemCode(error)})`);
    return {};
  }
}

const firstSet = (...crons: readonly (string | null | undefined)[]): string | null =>
  crons.find((cron) => cron !== undefined) ?? null;

function readCronMap(entry: MapReader, defaults: ScheduleConfig, problems: string[]): ScheduleConfig {
  // `schedule: off` is short for an account that is synced by hand only.
  const own =
    entry.fields['schedule'] === 'off'
      ? { all: 'off', reconcile: 'off' }
      : entry.read('schedule', SCHEDULE_ENTRY);
  const streams = Object.keys(defaults.streams);
  const keys = ['all', ...streams, 'reconcile', 'timezone'];
  const { read } = readMap(own ?? {}, { keys, path: 'schedule.', problems });
  const all = read('all', value.cron);
  const cronOf = (stream: string): string | null =>
    firstSet(read(stream, value.cron), all, defaults.streams[stream]);
  return {
    streams: Object.fromEntries(streams.map((stream) => [stream, cronOf(stream)])),
    reconcile: firstSet(read('reconcile', value.cron), defaults.reconcile),
    timezone: read('timezone', value.timezone) ?? defaults.timezone,
  };
}

/** The name if it is usable, the token as it was read, and the account if there are no problems. */
function parseEntry(content: unknown, folder: string, defaults: AccountDefaults) {
  if (!isMap(content)) return { problems: ['expected a map with name, base_url and token'] };
  const problems: string[] = [];
  const entry = readMap(content, { keys: KEYS, required: ['name', 'base_url'], problems });
  const { fields, read } = entry;
  const name = read('name', value.accountName);
  const baseUrl = read('base_url', value.baseUrl);
  const allowsInsecureHttp =
    value.flag.safeParse(fields['allow_insecure_http']).data ?? defaults.allowsInsecureHttp;
  const permission = 'allow_insecure_http: true';
  const wrong = baseUrl === undefined ? [] : baseUrlProblems(baseUrl, { allowsInsecureHttp, permission });
  problems.push(...wrong.map((problem) => `base_url: ${problem}`));
  const { text: token, file: tokenFile } = readToken(entry, folder, problems);
  const settings = {
    equipmentTypes: read('equipment_types', EQUIPMENT_TYPES) ?? [],
    schedule: readCronMap(entry, defaults.schedule, problems),
    reportingTimezone: read('reporting_timezone', value.namedTimezone) ?? defaults.reportingTimezone,
    reportTitle: read('report_title', value.lineOfText) ?? defaults.reportTitle,
    reportEmailTo: read('report_email_to', value.addressList),
  };
  read('allow_insecure_http', value.flag);
  const isWhole = name !== undefined && baseUrl !== undefined && token !== undefined;
  if (!isWhole || problems.length > 0) return { name, problems, token };
  const service = { baseUrl: normalizeBaseUrl(baseUrl), token, tokenFile, entry: name };
  const account: AccountConfig = { accountId: name, service, ...settings };
  return { name, account, problems, token };
}

/**
 * The entries of a file, or the problem with it. Messages of the parser quote the file, and perhaps a token, so only its codes
 * and positions are used.
 */
function readEntries(path: string): readonly unknown[] | string {
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    return `cannot read ${withoutUserinfo(path)} (${systemCode(error)})`;
  }
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
    const what = error.code.toLowerCase().replaceAll('_', ' ');
    return `${path} is neither YAML nor JSON at line ${line}, column ${col} (${what})`;
  }
  let content: unknown;
  try {
    // The operator wrote the file, so any number of aliases is safe.
    content = document.toJS({ maxAliasCount: -1 });
  } catch {
    return `${path} refers to an anchor that it does not have`;
  }
  if (!Array.isArray(content))
    return `${path} expected a list of accounts, each with name, base_url and token`;
  return content.length === 0 ? `${path} expected at least one account, the list is empty` : content;
}

/** `taken`: names that accounts outside of the file have. Never throws because of the content of the file. */
export function readAccountsFile(
  path: string,
  {
    taken,
    problems,
    ...defaults
  }: AccountDefaults & { readonly taken: readonly string[]; readonly problems: string[] },
): FoundAccounts {
  const entries = readEntries(path);
  if (typeof entries === 'string') {
    problems.push(`${VARIABLE}: ${entries}`);
    return { accounts: [], tokens: [] };
  }
  const folder = dirname(resolve(path));
  const accounts: AccountConfig[] = [];
  const tokens: string[] = [];
  const takenNames = new Map(taken.map((name) => [name, 'the one of SAFETY_ACCOUNT']));
  for (const [index, content] of entries.entries()) {
    const entry = parseEntry(content, folder, defaults);
    const label = `entry ${index + 1}${entry.name === undefined ? '' : ` (${entry.name})`}`;
    problems.push(...entry.problems.map((problem) => `${VARIABLE}, ${label}, ${problem}`));
    if (entry.token !== undefined) tokens.push(entry.token);
    if (entry.name === undefined) continue;
    const takenBy = takenNames.get(entry.name);
    if (takenBy !== undefined) {
      problems.push(`${VARIABLE}, ${label}, name: expected one of its own, it is also that of ${takenBy}`);
    } else takenNames.set(entry.name, `entry ${index + 1}`);
    if (entry.account !== undefined) accounts.push(entry.account);
  }
  return { accounts, tokens };
}
