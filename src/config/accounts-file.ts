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
import { readText, systemCode, withoutUserinfo } from './read-variables.ts';
import * as value from './value-forms.ts';

/** The defaults of an entry, from the variables. */
interface AccountDefaults {
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

const VARIABLE = 'SAFETY_ACCOUNTS_FILE';

const ENTRY = {
  name: value.accountName,
  base_url: value.baseUrl,
  token: value.token,
  token_file: value.path('a file that holds the token'),
  equipment_types: z
    .union([z.array(z.string().min(1)), value.commaList])
    .describe('a list of equipmentType_id values, or such values separated by commas'),
  schedule: z.record(z.string(), z.unknown()).describe('off, or a map from streams to cron expressions'),
  reporting_timezone: value.namedTimezone,
  report_title: value.lineOfText,
  report_email_to: value.addressList,
  allow_insecure_http: value.flag,
};
const entrySchema = z.strictObject(ENTRY).partial().required({ name: true, base_url: true });

const scheduleFormsOf = (streams: readonly string[]) => ({
  all: value.cron,
  ...Object.fromEntries(streams.map((stream) => [stream, value.cron])),
  reconcile: value.cron,
  timezone: value.timezone,
});

const isMap = (content: unknown): content is Readonly<Record<string, unknown>> =>
  typeof content === 'object' && content !== null && !Array.isArray(content);

/** An empty value counts as not set. */
const withoutEmpty = (content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(content).filter(([, one]) => one != null && one !== ''));

/** Adds a sentence for each key that is unknown, or whose value is not usable. zod's own messages may repeat the value. */
function parseMap<Schema extends z.ZodType>(
  schema: Schema,
  forms: Readonly<Record<string, z.ZodType>>,
  content: Readonly<Record<string, unknown>>,
  add: (problem: string) => void,
): z.output<Schema> | undefined {
  const { data, error } = schema.safeParse(content);
  const issues = error?.issues ?? [];
  for (const key of issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : [])))
    add(`${key}: no such key; there are ${Object.keys(forms).join(', ')}`);
  for (const key of new Set(
    issues.flatMap(({ path: [first] }) => (first === undefined ? [] : String(first))),
  )) {
    const found = content[key];
    const shown = typeof found === 'string' ? withoutUserinfo(JSON.stringify(found)) : 'something else';
    const got = key === 'token' ? 'got something else (not shown)' : `got ${shown}`;
    const expected = String(forms[key]?.description);
    add(`${key}: expected ${expected}, ${found === undefined ? 'it is not set' : got}`);
  }
  return data;
}

const firstSet = (...crons: readonly (string | null | undefined)[]): string | null =>
  crons.find((cron) => cron !== undefined) ?? null;

function readSchedule(
  content: unknown,
  defaults: ScheduleConfig,
  add: (problem: string) => void,
): ScheduleConfig {
  const streams = Object.keys(defaults.streams);
  const forms = scheduleFormsOf(streams);
  const schema = z.strictObject(forms).partial();
  const addInner = (problem: string): void => add(`schedule.${problem}`);
  const own = (parseMap(schema, forms, withoutEmpty(isMap(content) ? content : {}), addInner) ??
    {}) as Readonly<Record<string, string | null | undefined>>;
  return {
    streams: Object.fromEntries(
      streams.map((stream) => [stream, firstSet(own[stream], own['all'], defaults.streams[stream])]),
    ),
    reconcile: firstSet(own['reconcile'], defaults.reconcile),
    timezone: own['timezone'] ?? defaults.timezone,
  };
}

/** The text as it was read, valid or not. */
function readToken(
  { token, token_file: path }: Readonly<Record<string, unknown>>,
  folder: string,
  add: (problem: string) => void,
): { readonly text?: string; readonly file?: string } {
  if (token !== undefined && path !== undefined) add('token: token_file is set, too: keep one of them');
  if (token !== undefined) return typeof token === 'string' ? { text: token } : {};
  if (typeof path !== 'string') {
    add('token: expected a token, or token_file: the path of a file that holds it');
    return {};
  }
  const file = resolve(folder, path);
  try {
    const text = readText(file).trimEnd();
    if (!value.token.safeParse(text).success)
      add(
        `token_file: expected ${String(value.token.description)} in the file, got something else (not shown)`,
      );
    return { text, file };
  } catch (error) {
    add(`token_file: cannot read the file that it names (${systemCode(error)})`);
    return {};
  }
}

/** The name if it is usable, the token as it was read, and the account if there are no problems. */
function parseEntry(content: unknown, folder: string, defaults: AccountDefaults) {
  if (!isMap(content)) return { problems: ['expected a map with name, base_url and token'] };
  const problems: string[] = [];
  const add = (problem: string): void => void problems.push(problem);
  const fields = withoutEmpty(content);
  // `schedule: off` is short for an account that is synced by hand only.
  const given = fields['schedule'] === 'off' ? { all: 'off', reconcile: 'off' } : fields['schedule'];
  const set = given === undefined ? fields : { ...fields, schedule: given };
  const entry = parseMap(entrySchema, ENTRY, set, add);
  const schedule = readSchedule(given, defaults.schedule, add);
  const { text: token, file: tokenFile } = readToken(fields, folder, add);
  const name = value.accountName.safeParse(fields['name']).data;
  const baseUrl = value.baseUrl.safeParse(fields['base_url']).data;
  const allowed = value.flag.safeParse(fields['allow_insecure_http']).data;
  const allowsInsecureHttp = allowed ?? defaults.allowsInsecureHttp;
  const permission = 'allow_insecure_http: true';
  const wrong = baseUrl === undefined ? [] : baseUrlProblems(baseUrl, { allowsInsecureHttp, permission });
  problems.push(...wrong.map((problem) => `base_url: ${problem}`));
  if (entry === undefined || token === undefined || problems.length > 0) return { name, problems, token };
  const account: AccountConfig = {
    accountId: entry.name,
    service: { baseUrl: normalizeBaseUrl(entry.base_url), token, tokenFile, entry: entry.name },
    equipmentTypes: entry.equipment_types ?? [],
    schedule,
    reportingTimezone: entry.reporting_timezone ?? defaults.reportingTimezone,
    reportTitle: entry.report_title ?? defaults.reportTitle,
    reportEmailTo: entry.report_email_to,
  };
  return { name, account, problems, token };
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
      prettyErrors: false,
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
  const names = new Set(taken);
  for (const [index, content] of entries.entries()) {
    const entry = parseEntry(content, folder, defaults);
    const label = `${VARIABLE}, entry ${index + 1}${entry.name === undefined ? '' : ` (${entry.name})`}`;
    problems.push(...entry.problems.map((problem) => `${label}, ${problem}`));
    if (entry.token !== undefined) tokens.push(entry.token);
    if (entry.name === undefined) continue;
    if (names.has(entry.name))
      problems.push(`${label}, name: expected one of its own, another account has it`);
    names.add(entry.name);
    if (entry.account !== undefined) accounts.push(entry.account);
  }
  return { accounts, tokens };
}
