/** Every environment variable: its form, and its value where it is not set. `.env.example` says what each one means. */
import * as z from 'zod';
import { STREAMS } from '../engine/streams/index.ts';
import type { StreamDefinition, StreamName } from '../engine/streams/stream.ts';
import * as form from './value-forms.ts';

/** A shorter one can be found by trying. */
const SHORTEST_KEY = 16;
/** Longest delay that a Node timer can wait, ms. */
const MAX_TIMER_MS = 2_147_483_647;
const YEAR_MS = 365 * 24 * 3600 * 1000;

const days = form.wholeNumber(1, 36_500, 'days, from 1').optional();
const recordUrl = form.recordUrl.optional();

const COMMON = {
  SAFETY_BASE_URL: form.baseUrl.optional(),
  SAFETY_TOKEN: form.token.optional(),
  SAFETY_EQUIPMENT_TYPES: form.commaList.describe('equipmentType_id values, separated by commas').default([]),
  SAFETY_ACCOUNT: form.accountName.default('default'),
  SAFETY_ACCOUNTS_FILE: form.path('a YAML or JSON file that lists accounts').optional(),

  DATABASE_URL: form.databaseUrl.optional(),
  REPORTING_TIMEZONE: form.namedTimezone.optional(),
  PRIVACY_OMIT: form.columnList.default([]),
  PRIVACY_PSEUDONYMIZE: form.columnList.default([]),
  USERS_KEEP: form.keptOfUsers.default([]),
  PRIVACY_KEY: z
    .string()
    .refine((text) => text.length >= SHORTEST_KEY)
    .describe(`a secret of at least ${SHORTEST_KEY} characters, such as openssl rand -hex 32 makes`)
    .optional(),

  SYNC_CRON: form.cron.default('*/15 * * * *'),
  RECONCILE_CRON: form.cron.default('30 2 * * 0'),
  SYNC_TIMEZONE: form.timezone.default('UTC'),
  FRESHNESS_BUDGET_MINUTES: form.wholeNumber(1, 1_000_000, 'minutes, from 1').default(60),

  HTTP_HOST: z.string().regex(/^\S+$/).describe('a host name or address').default('127.0.0.1'),
  HTTP_PORT: form.wholeNumber(0, 65_535, 'a port, 0 to 65535').default(8080),
  HTTP_ALLOWED_HOSTS: form.commaList
    .pipe(z.array(z.string().regex(/^[\w.-]+$/)))
    .describe('host names without ports, separated by commas')
    .default([]),
  HTTP_REPORT: form.flag.default(false),
  LOG_LEVEL: form.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  LOG_FORMAT: form.oneOf('json', 'pretty').optional(),

  ALERT_WEBHOOK_URL: form.webUrl('the https:// URL of a webhook').optional(),
  ALERT_HEARTBEAT_URL: form.webUrl('the https:// URL that a service waits to be asked for').optional(),
  ALERT_AFTER_MINUTES: form.wholeNumber(0, 1_000_000, 'minutes, from 0').default(15),
  SMTP_URL: form
    .urlWithPassword('smtp:', 'smtps:')
    .describe('smtp://user:password@host:port, or smtps://')
    .optional(),
  ALERT_EMAIL_TO: form.addressList.optional(),
  ALERT_EMAIL_FROM: form.address.optional(),
  REPORT_CRON: form.cron.optional(),
  REPORT_EMAIL_TO: form.addressList.optional(),
  REPORT_DIR: form.path('a directory').optional(),
  REPORT_AREAS: form.areaReports.optional(),
  REPORT_TITLE: form.lineOfText.optional(),
  RECORD_URL_TEMPLATE_FOLLOWUP: recordUrl,
  RECORD_URL_TEMPLATE_RESOURCE: recordUrl,
  RECORD_URL_TEMPLATE_EQUIPMENT: recordUrl,
  RECORD_URL_TEMPLATE_EMPLOYEE: recordUrl,

  SAFETY_ALLOW_INSECURE_HTTP: form.flag.default(false),
  API_CONCURRENCY: form.wholeNumber(1, 100).default(4),
  API_REQUESTS_PER_MINUTE: form.numberOrOff(4, 30_000).optional(),
  REQUEST_TIMEOUT_MS: form.wholeNumber(1, MAX_TIMER_MS, 'ms, from 1').default(60_000),
  RETRY_ATTEMPTS: form.wholeNumber(0, 100).default(8),
  RETRY_MIN_DELAY_MS: form.wholeNumber(0, MAX_TIMER_MS, 'ms, from 0').default(1_000),
  RETRY_MAX_DELAY_MS: form.wholeNumber(0, MAX_TIMER_MS, 'ms, from 0').default(60_000),
  FOLLOWUPS_OVERLAP_MS: form.wholeNumber(0, YEAR_MS, 'ms, 0 to a year').default(600_000),
  MAX_DELETE_RATIO: form.ratio.default(0.5),
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
const streamCron = form.cron.optional();
type Variables = typeof COMMON & Readonly<Record<CronVariable, typeof streamCron>>;
/** Those with a default always have a value. */
export type VariableValues = { readonly [Name in keyof Variables]: z.output<Variables[Name]> };

/** The variable with the schedule of one stream; not set: SYNC_CRON holds. */
export function cronVariableOf(stream: StreamName): CronVariable {
  return `SYNC_CRON_${stream.toUpperCase().replaceAll('-', '_')}`;
}

export const variablesOf = (streams: readonly StreamDefinition[]): Variables => ({
  ...COMMON,
  ...Object.fromEntries(streams.map(({ name }) => [cronVariableOf(name), streamCron])),
});

export const VARIABLES: Variables = variablesOf(STREAMS);
