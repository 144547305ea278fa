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
  type ScheduleConfig,
  toServiceConfig,
} from './account-config.ts';
import { MOST_ACCOUNTS_KB, readSmallFile } from './read-small-file.ts';
import { shownPath, systemCode, withoutUserinfo } from './read-variables.ts';
import * as value from './value-forms.ts';
import { EXPECTED } from './value-forms.ts';

/** The defaults of an entry, from the variables. */
interface AccountDefaults {
  readonly schedule: ScheduleConfig;
  readonly reportingTimezone: string | null;
  readonly reportTitle: string | null;
  readonly allowsInsecureHttp: boolean;
}

export interface AccountsFile {
  /** Those that are usable. */
  readonly accounts: readonly AccountConfig[];
  readonly problems: readonly string[];
  /** Every token that was read, to keep it out of messages. */
  readonly tokens: readonly string[];
}

interface Problem {
  /** The path of the key; empty: the entry as a whole. */
  readonly path: readonly string[];
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

const NAME = 'SAFETY_ACCOUNTS_FILE';

/** Each stream has a key of its name. */
function entrySchema(streams: readonly string[]) {
  const crons = Object.fromEntries(streams.map((stream) => [stream, value.cron.optional()]));
  const schedule = { ...crons, reconcile: value.cron.optional(), timezone: value.timezone.optional() };
  return z.strictObject({
    name: value.accountName,
    base_url: value.url('https:', 'http:'),
    token: value.token.optional(),
    token_file: value.path.optional(),
    equipment_types: z.union([z.array(z.string().min(1)), value.commaList]).default([]),
    schedule: z.strictObject({ all: value.cron.optional(), ...schedule }).default({}),
    reporting_timezone: value.namedTimezone.optional(),
    report_title: value.lineOfText.optional(),
    report_email_to: value.addressList.optional(),
    allow_insecure_http: value.flag.optional(),
  });
}

type EntrySchema = ReturnType<typeof entrySchema>;

/** The expected form, by the last key of a path; every other key has a cron expression. */
const EXPECTED_AT: Readonly<Record<string, string>> = {
  name: EXPECTED.account,
  base_url: EXPECTED.baseUrl,
  token: EXPECTED.token,
  token_file: 'the path of a file that holds the token',
  equipment_types: 'a list of equipmentType_id values',
  schedule: 'off, or a map from streams to cron expressions',
  timezone: EXPECTED.timezone,
  reporting_timezone: EXPECTED.namedTimezone,
  report_title: EXPECTED.lineOfText,
  report_email_to: EXPECTED.addresses,
  allow_insecure_http: EXPECTED.flag,
};

const isMap = (content: unknown): content is Fields =>
  typeof content === 'object' && content !== null && !Array.isArray(content);

/** An absent or empty key counts as not set. */
const withoutEmpty = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, one]) => one != null && one !== ''));

function toFields(content: Fields): Fields {
  const { schedule, ...rest } = withoutEmpty(content);
  if (schedule === undefined) return rest;
  // `schedule: off` is short for an account that is synced by hand only.
  const crons = schedule === 'off' ? { all: 'off', reconcile: 'off' } : schedule;
  return { ...rest, schedule: isMap(crons) ? withoutEmpty(crons) : crons };
}

function got(fields: Fields, [key = '', inner]: readonly string[]): string {
  const found = inner === undefined ? fields[key] : (fields[key] as Fields)[inner];
  if (found === undefined) return 'it is not set';
  if (key === 'token') return 'got something else (not shown)';
  return `got ${typeof found === 'string' ? withoutUserinfo(JSON.stringify(found)) : 'something else'}`;
}

/** Built from an issue's path and code alone: zod's own message may repeat the value. */
function toProblems(issue: z.core.$ZodIssue, fields: Fields, schema: EntrySchema): Problem[] {
  const path = issue.path.slice(0, issue.path[0] === 'schedule' ? 2 : 1).map(String);
  if (issue.code === 'unrecognized_keys') {
    const { shape } = path.length === 0 ? schema : schema.shape.schedule.unwrap();
    const text = `no such key; there are ${Object.keys(shape).join(', ')}`;
    return issue.keys.map((key) => ({ path: [...path, key], text }));
  }
  const expected = EXPECTED_AT[path.at(-1) ?? ''] ?? EXPECTED.cron;
  return [{ path, text: `expected ${expected}, ${got(fields, path)}` }];
}

/** The text of the token, and a problem if it cannot be used. */
function readToken(fields: Fields, folder: string): { text?: string; file?: string; problem?: Problem } {
  const { token: own } = fields;
  const path = value.path.safeParse(fields['token_file']).data;
  const text = typeof own === 'string' ? { text: own } : {};
  const wrong = (key: string, problem: string) => ({ problem: { path: [key], text: problem } });
  if (own !== undefined && fields['token_file'] !== undefined) {
    return { ...text, ...wrong('token', 'token_file is set, too: keep one of them') };
  }
  if (own !== undefined) return text;
  if (fields['token_file'] === undefined) {
    return wrong('token', 'expected a token, or token_file: the path of a file that holds it');
  }
  if (path === undefined) return {};
  const file = resolve(folder, path);
  try {
    const read = readSmallFile(file).replace(/\s+$/, '');
    if (value.token.safeParse(read).success) return { text: read, file };
    const problem = `expected ${EXPECTED.token} in ${file}, got something else (not shown)`;
    return { text: read, ...wrong('token_file', problem) };
  } catch (error) {
    return wrong('token_file', `cannot read ${shownPath(path, file)} (${systemCode(error)})`);
  }
}

const firstSet = (...crons: readonly (string | null | undefined)[]): string | null =>
  crons.find((cron) => cron !== undefined) ?? null;

function toSchedule(own: z.output<EntrySchema>['schedule'], defaults: ScheduleConfig): ScheduleConfig {
  const crons = own as Readonly<Record<string, string | null | undefined>>;
  return {
    timezone: own.timezone ?? defaults.timezone,
    streams: Object.fromEntries(
      Object.entries(defaults.streams).map(([stream, cron]) => [
        stream,
        firstSet(crons[stream], own.all, cron),
      ]),
    ),
    reconcile: firstSet(own.reconcile, defaults.reconcile),
  };
}

interface EntryOptions extends AccountDefaults {
  readonly schema: EntrySchema;
  readonly folder: string;
}

/** Name and account if they are usable, and the token as it was read, valid or not. */
function parseEntry(content: unknown, { schema, folder, ...defaults }: EntryOptions) {
  if (!isMap(content)) {
    return { problems: ['expected a map with name, base_url and token'] };
  }
  const fields = toFields(content);
  const parsed = schema.safeParse(fields);
  const { name, base_url: baseUrl, allow_insecure_http: insecure } = schema.shape;
  const address = baseUrl.safeParse(fields['base_url']).data;
  const allowsInsecureHttp =
    insecure.safeParse(fields['allow_insecure_http']).data ?? defaults.allowsInsecureHttp;
  const permission = 'allow_insecure_http: true';
  const ofAddress = address === undefined ? [] : baseUrlProblems(address, { allowsInsecureHttp, permission });
  const token = readToken(fields, folder);
  const found: Problem[] = [
    ...(parsed.error?.issues ?? []).flatMap((issue) => toProblems(issue, fields, schema)),
    ...ofAddress.map((text) => ({ path: ['base_url'], text })),
    ...(token.problem === undefined ? [] : [token.problem]),
  ];
  // The order of the keys in the documents; other names come first.
  const keys = Object.keys(schema.shape);
  const streams = Object.keys(schema.shape.schedule.unwrap().shape);
  const orderOf = ({ path: [key = '', inner = ''] }: Problem) =>
    keys.indexOf(key) * (streams.length + 1) + streams.indexOf(inner);
  const problems = found
    .toSorted((one, other) => orderOf(one) - orderOf(other))
    .map(({ path, text }) => `${path.join('.')}: ${text}`);
  const account = (entry: z.output<EntrySchema>): AccountConfig => ({
    accountId: entry.name,
    service: toServiceConfig({
      baseUrl: entry.base_url,
      token: token.text ?? '',
      tokenFile: token.file,
      entry: entry.name,
    }),
    equipmentTypes: entry.equipment_types,
    reportingTimezone: entry.reporting_timezone ?? defaults.reportingTimezone,
    reportTitle: entry.report_title ?? defaults.reportTitle,
    ...(entry.report_email_to === undefined ? {} : { reportEmailTo: entry.report_email_to }),
    schedule: toSchedule(entry.schedule, defaults.schedule),
  });
  return {
    name: name.safeParse(fields['name']).data,
    account: parsed.success && found.length === 0 ? account(parsed.data) : undefined,
    problems: [...new Set(problems)],
    token: token.text,
  };
}

/** Messages of the parser quote the file, and perhaps a token, so only its codes and positions are used. */
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
    const what = error.code.toLowerCase().replaceAll('_', ' ');
    return { problem: `is neither YAML nor JSON at line ${line}, column ${col} (${what})` };
  }
  // The operator wrote the file, so any number of aliases is safe.
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

function failed(problem: string): AccountsFile {
  return { accounts: [], problems: [`${NAME}: ${problem}`], tokens: [] };
}

/** `taken`: names that accounts outside of the file have. Never throws because of the content of the file. */
export function readAccountsFile(
  path: string,
  { taken, ...defaults }: AccountDefaults & { readonly taken: readonly string[] },
): AccountsFile {
  let text: string;
  try {
    text = readSmallFile(path, MOST_ACCOUNTS_KB);
  } catch (error) {
    return failed(`cannot read ${withoutUserinfo(path)} (${systemCode(error)})`);
  }
  const parsed = parseList(text);
  if ('problem' in parsed) return failed(`${path} ${parsed.problem}`);
  const schema = entrySchema(Object.keys(defaults.schedule.streams));
  const folder = dirname(resolve(path));
  const accounts: AccountConfig[] = [];
  const problems: string[] = [];
  const tokens: string[] = [];
  const owners = new Map(taken.map((name) => [name, 'the one of SAFETY_ACCOUNT']));
  for (const [index, content] of parsed.list.entries()) {
    const entry = parseEntry(content, { ...defaults, schema, folder });
    const label = `entry ${index + 1}${entry.name === undefined ? '' : ` (${entry.name})`}`;
    problems.push(...entry.problems.map((problem) => `${NAME}, ${label}, ${problem}`));
    if (entry.token !== undefined) tokens.push(entry.token);
    if (entry.name === undefined) continue;
    const owner = owners.get(entry.name);
    if (owner !== undefined) {
      problems.push(`${NAME}, ${label}, name: expected one of its own, it is also that of ${owner}`);
    } else owners.set(entry.name, `entry ${index + 1}`);
    if (entry.account !== undefined) accounts.push(entry.account);
  }
  return { accounts, problems, tokens };
}
