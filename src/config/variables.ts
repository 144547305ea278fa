/**
 * Every environment variable: the form of its text, and its value where it is not set. The description of a form is the text
 * of every error about a value; `.env.example` says what each variable means.
 */
import { validate as isCron } from 'node-cron';
import * as z from 'zod';
import { STREAMS } from '../engine/streams/index.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import { KEEPABLE } from '../engine/streams/users.ts';
import { isRecordUrlTemplate } from '../shared/record-urls.ts';
import { DAY_MS, LONGEST_TIMER_MS } from '../shared/time.ts';

/** A shorter one can be found by trying. */
const SHORTEST_KEY = 16;
const YEAR_MS = 365 * DAY_MS;

const text = (pattern: RegExp, expected: string) => z.string().regex(pattern).describe(expected);

const wholeNumber = (min: number, max: number, expected = `a whole number from ${min} to ${max}`) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max)
    .describe(expected);

const oneOf = <Word extends string>(...words: readonly Word[]) =>
  z.enum(words).describe(`one of ${words.join(', ')}`);

const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((value) => ['true', '1', 'yes'].includes(value))
  .describe('true or false');

const cron = z
  .string()
  .refine((value) => value === 'off' || isCron(value))
  .transform((value) => (value === 'off' ? null : value))
  .describe('a cron expression of 5 or 6 fields, or off');

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
const timezone = z.string().refine(isTimezone).describe('a time zone such as Europe/Oslo');

/**
 * The value must be a name, because PostgreSQL reads an offset such as +02:00 with the opposite sign. Some names are
 * abbreviations in PostgreSQL: it reads CET as an hour ahead of UTC, without summer time.
 */
const namedTimezone = timezone
  .refine((value) => /[a-z]/i.test(value) && !['CET', 'EET', 'MET', 'WET'].includes(value.toUpperCase()))
  .describe('the name of a time zone with a place, such as Europe/Oslo');

/** Its user and password are readable: a % in them is written %25. */
const url = (expected: string, ...protocols: string[]) =>
  z
    .string()
    .refine((value) => {
      try {
        const { username, password, hostname, protocol } = new URL(value);
        decodeURIComponent(`${username}${password}`);
        return hostname !== '' && protocols.includes(protocol);
      } catch {
        return false;
      }
    })
    .describe(expected);
const webUrl = (expected: string) => url(expected, 'https:', 'http:').optional();

/** URL template of a record’s page. */
const recordUrl = z
  .string()
  .refine(isRecordUrlTemplate)
  .describe(
    'an https:// URL with {id}, {response_id} or {form_id} behind the host name, e.g. https://service.example.com/followups/{id}',
  )
  .optional();

/** `what`: describes the file or directory at the path. */
const path = (what: string) => text(/^[^\0]+$/, `the path of ${what}`).optional();

/** With a name before it or without: `Safety <safety@example.com>`. */
const address = text(/^(?:[^<>,"]*<[^\s<>,@]+@[^\s<>,@]+>|[^\s<>,@]+@[^\s<>,@]+)$/, 'a mail address');

/** With a semicolon it would be one value. */
const commaList = z
  .string()
  .refine((value) => !value.includes(';'))
  .transform((value) =>
    value
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  );
const addressList = commaList
  .pipe(z.array(address).min(1))
  .describe('mail addresses, separated by commas')
  .optional();
/** `privacyProblems` judges the rest. */
const columnList = commaList.describe('table.column, separated by commas').default([]);

export const token = text(/^[\x21-\x7e]+$/, 'an API token: one line, no spaces');
export const accountName = text(/^[\w.@:-]{1,100}$/, '1 to 100 letters, digits or _ . @ : -');

const minutes = (least: number) => wholeNumber(least, 1_000_000, `minutes, from ${least}`);
const ms = (least: number) => wholeNumber(least, LONGEST_TIMER_MS, `ms, from ${least}`);
const days = wholeNumber(1, 36_500, 'days, from 1').optional();

const COMMON = {
  SAFETY_BASE_URL: webUrl('an https:// URL, e.g. https://service.example.com'),
  SAFETY_TOKEN: token.optional(),
  SAFETY_EQUIPMENT_TYPES: commaList.describe('equipmentType_id values, separated by commas').default([]),
  SAFETY_ACCOUNT: accountName.default('default'),
  SAFETY_ACCOUNTS_FILE: path('a YAML or JSON file that lists accounts'),

  /** `databaseUrlProblem` judges the rest. */
  DATABASE_URL: text(/^postgres(?:ql)?:\/\//i, 'postgres://user:password@host:port/database').optional(),
  REPORTING_TIMEZONE: namedTimezone.optional(),
  PRIVACY_OMIT: columnList,
  PRIVACY_PSEUDONYMIZE: columnList,
  USERS_KEEP: commaList
    .refine((words) => words.every((word) => KEEPABLE.some((one) => one === word)))
    .describe(`any of ${KEEPABLE.join(', ')}, separated by commas`)
    .default([]),
  PRIVACY_KEY: z
    .string()
    .min(SHORTEST_KEY)
    .describe(`a secret of at least ${SHORTEST_KEY} characters, such as openssl rand -hex 32 makes`)
    .optional(),

  SYNC_CRON: cron.default('*/15 * * * *'),
  RECONCILE_CRON: cron.default('30 2 * * 0'),
  SYNC_TIMEZONE: timezone.default('UTC'),
  FRESHNESS_BUDGET_MINUTES: minutes(1).default(60),

  HTTP_HOST: text(/^\S+$/, 'a host name or address').default('127.0.0.1'),
  HTTP_PORT: wholeNumber(0, 65_535, 'a port, 0 to 65535').default(8080),
  HTTP_ALLOWED_HOSTS: commaList
    .pipe(z.array(z.string().regex(/^[\w.-]+$/)))
    .describe('host names without ports, separated by commas')
    .default([]),
  HTTP_REPORT: flag.default(false),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  LOG_FORMAT: oneOf('json', 'pretty').optional(),

  ALERT_WEBHOOK_URL: webUrl('the https:// URL of a webhook'),
  ALERT_HEARTBEAT_URL: webUrl('the https:// URL that a service waits to be asked for'),
  ALERT_AFTER_MINUTES: minutes(0).default(15),
  SMTP_URL: url('smtp://user:password@host:port, or smtps://', 'smtp:', 'smtps:').optional(),
  ALERT_EMAIL_TO: addressList,
  ALERT_EMAIL_FROM: address.optional(),
  REPORT_CRON: cron.optional(),
  REPORT_EMAIL_TO: addressList,
  REPORT_DIR: path('a directory'),
  /** Printable, because people read it. */
  REPORT_TITLE: text(/^[^\p{Cc}]{1,200}$/u, 'a text of one line, 200 characters at most').optional(),
  RECORD_URL_TEMPLATE_FOLLOWUP: recordUrl,
  RECORD_URL_TEMPLATE_RESOURCE: recordUrl,
  RECORD_URL_TEMPLATE_EQUIPMENT: recordUrl,
  RECORD_URL_TEMPLATE_EMPLOYEE: recordUrl,

  SAFETY_ALLOW_INSECURE_HTTP: flag.default(false),
  API_CONCURRENCY: wholeNumber(1, 100).default(4),
  API_REQUESTS_PER_MINUTE: z
    .union([z.literal('off').transform(() => null), wholeNumber(4, 30_000)])
    .describe('a whole number from 4 to 30000, or off')
    .optional(),
  REQUEST_TIMEOUT_MS: ms(1).default(60_000),
  RETRY_ATTEMPTS: wholeNumber(0, 100).default(8),
  RETRY_MIN_DELAY_MS: ms(0).default(1_000),
  RETRY_MAX_DELAY_MS: ms(0).default(60_000),
  FOLLOWUPS_OVERLAP_MS: wholeNumber(0, YEAR_MS, 'ms, 0 to a year').default(600_000),
  MAX_DELETE_RATIO: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/)
    .transform(Number)
    .describe('a number from 0 to 1')
    .default(0.5),
  RETENTION_DELETED_DAYS: days,
  RETENTION_RUNS_DAYS: days,
  RETENTION_ISSUES_DAYS: days,
};

/** Their values are never shown, not even in the error about a bad value. */
export const SECRETS = [
  'SAFETY_TOKEN',
  'DATABASE_URL',
  'PRIVACY_KEY',
  'ALERT_WEBHOOK_URL',
  'ALERT_HEARTBEAT_URL',
  'SMTP_URL',
];

type CronVariable = `SYNC_CRON_${string}`;
const streamCron = cron.optional();
type Variables = typeof COMMON & Readonly<Record<CronVariable, typeof streamCron>>;
/** Those with a default always have a value. */
export type VariableValues = { readonly [Name in keyof Variables]: z.output<Variables[Name]> };

/** The variable with the schedule of one stream; not set: SYNC_CRON holds. */
export function cronVariableOf(stream: StreamName): CronVariable {
  return `SYNC_CRON_${stream.toUpperCase().replaceAll('-', '_')}`;
}

export const VARIABLES: Variables = {
  ...COMMON,
  ...Object.fromEntries(STREAMS.map(({ name }) => [cronVariableOf(name), streamCron])),
};
