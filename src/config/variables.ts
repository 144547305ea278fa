/** Every environment variable: its default and what it takes. docs/configuration.md is tested against this list. */
import { validate as isCron } from 'node-cron';
import { z } from 'zod';
import { STREAMS } from '../streams/index.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import { databaseUrlProblem } from './database-url.ts';

/** Longest delay that a Node timer can wait, ms. */
const MAX_TIMER_MS = 2_147_483_647;

export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);

export const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((value) => value === 'true' || value === '1' || value === 'yes');

export const cron = z
  .string()
  .refine((value) => value === 'off' || isCron(value))
  .transform((value) => (value === 'off' ? null : value));

export const timezone = z.string().refine((value) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
});

/** A name: PostgreSQL reads an offset such as +02:00 the other way round. */
export const namedTimezone = timezone.refine((value) => /^[A-Za-z]/.test(value));

export const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol));

/** Whose password can be read: a % in it is written %25. */
const urlWithPassword = (...protocols: string[]) =>
  url(...protocols).refine((value) => {
    try {
      const { username, password, hostname } = new URL(value);
      decodeURIComponent(`${username}${password}`);
      return hostname !== '';
    } catch {
      return false;
    }
  });

/** Of a file. */
export const path = z.string().regex(/^[^\0]+$/);

/** With a name before it or without: `Safety <safety@example.com>`. */
const address = z.string().regex(/^(?:[^<>,"]*<[^\s<>,@]+@[^\s<>,@]+>|[^\s<>,@]+@[^\s<>,@]+)$/);

export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== ''),
);

export const addressList = commaList.pipe(z.array(address).min(1));

export const token = z.string().regex(/^[\x21-\x7e]+$/);
export const accountName = z.string().regex(/^[\w.@:-]{1,100}$/);

/** For readers: printable, on one line. */
export const lineOfText = z.string().regex(/^[^\p{Cc}]{1,200}$/u);

/** What a value should have been, in the same words wherever it stands. */
export const EXPECTED = {
  baseUrl: 'an https:// URL without /v1, e.g. https://service.example.com',
  token: 'an API token: one line, no spaces',
  account: '1 to 100 letters, digits or _ . @ : -',
  cron: 'a cron expression of 5 or 6 fields, or off',
  timezone: 'a time zone such as Europe/Oslo',
  namedTimezone: 'the name of a time zone, such as Europe/Oslo',
  flag: 'true or false',
  lineOfText: 'a text of one line, 200 characters at most',
  addresses: 'mail addresses with commas between',
} as const;

interface Variable<T, Default extends string | undefined> {
  readonly schema: z.ZodType<T, string>;
  readonly expected: string;
  /** As its text; undefined: there is none. */
  readonly default: Default;
  /** Never shown, not even in the error about a bad value. */
  readonly secret: boolean;
  /** What is wrong with a value that has the right form, or why it has not; undefined: nothing more than `expected`. */
  readonly problemOf?: ((value: string) => string | undefined) | undefined;
}

function variable<T, Default extends string | undefined = undefined>(
  schema: z.ZodType<T, string>,
  expected: string,
  options: Partial<Omit<Variable<T, Default>, 'schema' | 'expected'>> = {},
): Variable<T, Default> {
  return { schema, expected, secret: false, ...options, default: options.default as Default };
}

const columnList = commaList.refine((names) => names.every((name) => /^\w+\.\w+$/.test(name)));
const EXPECTED_COLUMNS = 'table.column, with commas between';
/** A shorter one can be found by trying. */
const SHORTEST_KEY = 16;

const days = wholeNumber(1, 36_500);
const EXPECTED_DAYS = 'days, from 1';

/** All but the schedules of single streams, which `variablesOf` derives from their declarations. */
const COMMON = {
  SAFETY_BASE_URL: variable(url('https:', 'http:'), EXPECTED.baseUrl),
  SAFETY_TOKEN: variable(token, EXPECTED.token, { secret: true }),
  SAFETY_ACCOUNT: variable(accountName, EXPECTED.account, { default: 'default' }),
  SAFETY_ACCOUNTS_FILE: variable(path, 'the path of a YAML or JSON file that lists accounts'),
  SAFETY_EQUIPMENT_TYPES: variable(commaList, 'equipmentType_id values with commas between', {
    default: '',
  }),
  SAFETY_ALLOW_INSECURE_HTTP: variable(flag, EXPECTED.flag, { default: 'false' }),
  DATABASE_URL: variable(url('postgres:', 'postgresql:'), 'postgres://user:password@host:port/database', {
    secret: true,
    problemOf: databaseUrlProblem,
  }),
  REPORTING_TIMEZONE: variable(namedTimezone, EXPECTED.namedTimezone),
  REPORT_TITLE: variable(lineOfText, EXPECTED.lineOfText),
  SYNC_CRON: variable(cron, EXPECTED.cron, { default: '*/15 * * * *' }),
  SYNC_TIMEZONE: variable(timezone, EXPECTED.timezone, { default: 'UTC' }),
  RECONCILE_CRON: variable(cron, EXPECTED.cron, { default: '30 2 * * 0' }),
  SYNC_CONCURRENCY: variable(wholeNumber(1, 1000), 'a whole number from 1 to 1000', { default: '20' }),
  SYNC_SPREAD_SECONDS: variable(wholeNumber(0, 86_400), 'seconds, 0 to a day', { default: '300' }),
  FOLLOWUPS_OVERLAP_MS: variable(wholeNumber(0, 365 * 24 * 3600 * 1000), 'ms, 0 to a year', {
    default: '600000',
  }),
  API_CONCURRENCY: variable(wholeNumber(1, 100), 'a whole number from 1 to 100', { default: '4' }),
  API_REQUESTS_PER_MINUTE: variable(wholeNumber(1, 1_000_000), 'a whole number from 1'),
  REQUEST_TIMEOUT_MS: variable(wholeNumber(1, MAX_TIMER_MS), 'ms, from 1', { default: '60000' }),
  RETRY_ATTEMPTS: variable(wholeNumber(0, 100), 'a whole number from 0 to 100', { default: '8' }),
  RETRY_MIN_DELAY_MS: variable(wholeNumber(0, MAX_TIMER_MS), 'ms, from 0', { default: '1000' }),
  RETRY_MAX_DELAY_MS: variable(wholeNumber(0, MAX_TIMER_MS), 'ms, from 0', { default: '60000' }),
  MAX_DELETE_RATIO: variable(
    z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/)
      .transform(Number),
    'a number from 0 to 1',
    { default: '0.5' },
  ),
  PRIVACY_OMIT: variable(columnList, EXPECTED_COLUMNS, { default: '' }),
  PRIVACY_PSEUDONYMIZE: variable(columnList, EXPECTED_COLUMNS, { default: '' }),
  PRIVACY_KEY: variable(
    z.string().refine((text) => text.length >= SHORTEST_KEY),
    `a secret of at least ${SHORTEST_KEY} characters, such as openssl rand -hex 32 makes`,
    { secret: true },
  ),
  RETENTION_DELETED_DAYS: variable(days, EXPECTED_DAYS),
  RETENTION_RUNS_DAYS: variable(days, EXPECTED_DAYS),
  RETENTION_ISSUES_DAYS: variable(days, EXPECTED_DAYS),
  HTTP_HOST: variable(z.string().regex(/^\S+$/), 'a host name or address', { default: '127.0.0.1' }),
  HTTP_ALLOWED_HOSTS: variable(
    commaList.pipe(z.array(z.string().regex(/^[\w.-]+$/))),
    'host names with commas between, without ports',
    { default: '' },
  ),
  HTTP_PORT: variable(wholeNumber(0, 65_535), 'a port, 0 to 65535', { default: '8080' }),
  FRESHNESS_BUDGET_MINUTES: variable(wholeNumber(1, 1_000_000), 'minutes, from 1', { default: '60' }),
  ALERT_WEBHOOK_URL: variable(urlWithPassword('https:', 'http:'), 'the https:// URL of a webhook', {
    secret: true,
  }),
  ALERT_HEARTBEAT_URL: variable(
    urlWithPassword('https:', 'http:'),
    'the https:// URL that a service waits to be asked for',
    { secret: true },
  ),
  SMTP_URL: variable(urlWithPassword('smtp:', 'smtps:'), 'smtp://user:password@host:port, or smtps://', {
    secret: true,
  }),
  ALERT_EMAIL_TO: variable(addressList, EXPECTED.addresses),
  ALERT_EMAIL_FROM: variable(address, 'a mail address'),
  ALERT_AFTER_MINUTES: variable(wholeNumber(0, 1_000_000), 'minutes, from 0', { default: '15' }),
  REPORT_CRON: variable(cron, EXPECTED.cron),
  REPORT_EMAIL_TO: variable(addressList, EXPECTED.addresses),
  REPORT_DIR: variable(path, 'the path of a directory'),
  LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'trace, debug, info, warn, error, fatal or silent',
    { default: 'info' },
  ),
  LOG_FORMAT: variable(z.enum(['json', 'pretty']), 'json or pretty'),
} as const;

type CronVariable = `SYNC_CRON_${string}`;
export type Variables = typeof COMMON & Readonly<Record<CronVariable, Variable<string | null, undefined>>>;
export type VariableName = keyof Variables;
/** Those with a default always have a value. */
export type VariableValues = {
  readonly [Name in VariableName]:
    z.output<Variables[Name]['schema']> | (Variables[Name]['default'] extends string ? never : undefined);
};

/** Of the schedule of one stream; not set: SYNC_CRON holds. */
export function cronVariableOf(stream: StreamName): CronVariable {
  return `SYNC_CRON_${stream.toUpperCase().replaceAll('-', '_')}`;
}

/** In the order of the documents: the schedules of single streams stand behind the one of all. */
export function variablesOf(streams: readonly StreamDefinition[]): Variables {
  const crons = streams.map(({ name }) => [cronVariableOf(name), variable(cron, EXPECTED.cron)] as const);
  const all = Object.entries(COMMON).flatMap((one) => (one[0] === 'SYNC_CRON' ? [one, ...crons] : [one]));
  return Object.fromEntries(all) as Variables;
}

export const VARIABLES: Variables = variablesOf(STREAMS);
