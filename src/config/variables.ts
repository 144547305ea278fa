/** Every environment variable: form, default, meaning. docs/configuration.md and .env.example are generated from them. */
import * as z from 'zod';
import { STREAMS } from '../engine/streams/index.ts';
import { KEEPABLE } from '../engine/streams/users.ts';
import type { StreamDefinition, StreamName } from '../engine/streams/stream.ts';
import { databaseUrlProblem } from './database-url.ts';
import { RARE } from './rare-variables.ts';
import * as form from './value-forms.ts';
import { type Variable, variable } from './value-forms.ts';

const IN_URLS = '`@ / : # ? %` in user or password are written `%40 %2F %3A %23 %3F %25`';
/** A shorter one can be found by trying. */
const SHORTEST_KEY = 16;

const recordUrlVariable = (about: string, options: { readonly example?: string } = {}) =>
  variable(form.recordUrl, about, options);

const SERVICE = {
  SAFETY_BASE_URL: variable(
    form.baseUrl,
    'Address of the service; `/v1` at its end may be left out. Plain `http://` only to this machine.',
    { example: 'https://service.example.com' },
  ),
  SAFETY_TOKEN: variable(
    form.token,
    'API token. It is sent in the body of a POST, never in a URL. With docker compose it is the file `secrets/safety_token`.',
    { secret: true },
  ),
  SAFETY_EQUIPMENT_TYPES: variable(
    form.commaList.describe('equipmentType_id values, separated by commas'),
    'equipmentType_id values with commas between; equipment of other types is not read. Empty: every type that the service lists; where it lists none, `equipments` is skipped.',
    { default: '' },
  ),
  SAFETY_ACCOUNT: variable(
    form.accountName,
    '`account_id` in every row; another one for every account that shares a warehouse.',
    { default: 'default' },
  ),
  SAFETY_ACCOUNTS_FILE: variable(
    form.path('a YAML or JSON file that lists accounts'),
    'A YAML or JSON file that lists [accounts](#many-accounts), in addition to the one of these variables.',
  ),
} as const;

const WAREHOUSE = {
  DATABASE_URL: variable(
    form.databaseUrl,
    `The warehouse, PostgreSQL 14 or later; ${IN_URLS}. Not set: embedded PostgreSQL in \`.data/postgres\`. Required in the container image; with docker compose it is the file \`secrets/database_url\`.`,
    { secret: true, problemOf: databaseUrlProblem },
  ),
  REPORTING_TIMEZONE: variable(
    form.namedTimezone,
    'Time zone in which days begin for the [views](bi.md#views): overdue, days until expiry, counts per day. Not set: the warehouse keeps its own, at first UTC.',
  ),
  PRIVACY_OMIT: variable(
    form.columnList,
    '`table.column`, with commas between: never stored, neither there nor in `_raw`, history or data issues ([privacy](privacy.md)).',
    { default: '' },
  ),
  PRIVACY_PSEUDONYMIZE: variable(
    form.columnList,
    'A list of the same form: stored as a keyed hash, equal values stay equal.',
    { default: '' },
  ),
  USERS_KEEP: variable(
    form.keptOfUsers,
    `Of people, also stored: any of ${KEEPABLE.map((word) => `\`${word}\``).join(', ')}, with commas between ([privacy](privacy.md#people)).`,
    { default: '' },
  ),
  PRIVACY_KEY: variable(
    z
      .string()
      .refine((text) => text.length >= SHORTEST_KEY)
      .describe(`a secret of at least ${SHORTEST_KEY} characters, such as openssl rand -hex 32 makes`),
    `The secret of these hashes, and of \`forget\`; ${SHORTEST_KEY} characters or more, such as \`openssl rand -hex 32\` makes.`,
    { secret: true },
  ),
} as const;

const SCHEDULE = {
  SYNC_CRON: variable(
    form.cron,
    'Schedule of every stream, 5 or 6 fields (seconds first); `off` disables it. Where day of month and day of week are both given, both must match.',
    { default: '*/15 * * * *' },
  ),
  RECONCILE_CRON: variable(
    form.cron,
    'Schedule of `reconcile`, the full refresh of all streams, which also finds deletions; `off` disables it.',
    { default: '30 2 * * 0' },
  ),
  SYNC_TIMEZONE: variable(form.timezone, 'Time zone of the schedules.', {
    default: 'UTC',
  }),
  FRESHNESS_BUDGET_MINUTES: variable(
    form.wholeNumber(1, 1_000_000, 'minutes, from 1'),
    '`status`, `/readyz` and metrics call a stream stale when its last success (of training: its cache) is older.',
    { default: '60' },
  ),
} as const;

const PAGES = {
  HTTP_HOST: variable(
    z.string().regex(/^\S+$/).describe('a host name or address'),
    'Address on which `start` serves status page, health and metrics (in the container: 0.0.0.0). The pages have no password.',
    { default: '127.0.0.1' },
  ),
  HTTP_PORT: variable(form.wholeNumber(0, 65_535, 'a port, 0 to 65535'), 'Its port; 0: any that is free.', {
    default: '8080',
  }),
  HTTP_ALLOWED_HOSTS: variable(
    form.commaList
      .pipe(z.array(z.string().regex(/^[\w.-]+$/)))
      .describe('host names without ports, separated by commas'),
    'Names that a browser or proxy may use for the pages, with commas between; addresses, `localhost` and `HTTP_HOST` need no entry ([why](operations.md#look)).',
    { default: '' },
  ),
  HTTP_REPORT: variable(
    form.flag,
    'Serves the [report](operations.md#the-report) at `/report`, with its workbook, CSV files and figures as JSON, made at most once in five minutes. They name people and have no password.',
    { default: 'false' },
  ),
  LOG_LEVEL: variable(
    z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .describe('trace, debug, info, warn, error, fatal or silent'),
    'trace, debug (also every request: method, attempt, time, records, request id), info, warn, error, fatal or silent.',
    { default: 'info' },
  ),
} as const;

const ALERTS = {
  ALERT_WEBHOOK_URL: variable(
    form.urlWithPassword('https:', 'http:').describe('the https:// URL of a webhook'),
    'A webhook for [alerts](operations.md#alerts), as `{"text": …}`, which chat services show as it is; https, as `SAFETY_BASE_URL`. A secret: the URL is enough to post there.',
    { secret: true },
  ),
  SMTP_URL: variable(
    form.urlWithPassword('smtp:', 'smtps:').describe('smtp://user:password@host:port, or smtps://'),
    `Mail server: \`smtp://user:password@host:587\` (TLS by STARTTLS) or \`smtps://…:465\`; ${IN_URLS}. A secret.`,
    { secret: true, example: 'smtp://user:password@mail.example.com:587' },
  ),
  ALERT_EMAIL_TO: variable(form.addressList, 'Recipients of alerts by mail: addresses with commas between.'),
  ALERT_EMAIL_FROM: variable(form.address, 'Sender of alerts and reports; needed if either is mailed.'),
  ALERT_HEARTBEAT_URL: variable(
    form.urlWithPassword('https:', 'http:').describe('the https:// URL that a service waits to be asked for'),
    'Receives a GET, at most once a minute, while every stream of every account is fresh: for a service such as healthchecks.io that [sends an alert when no GET comes](operations.md#alerts). A secret.',
    { secret: true },
  ),
  REPORT_CRON: variable(
    form.cron,
    'Schedule of the [report](operations.md#the-report), in `SYNC_TIMEZONE`.',
    { example: '0 7 * * 1' },
  ),
  REPORT_EMAIL_TO: variable(
    form.addressList,
    'Recipients of the report by mail: its first screen in the mail, the page and a workbook attached.',
  ),
  REPORT_DIR: variable(
    form.path('a directory'),
    'Directory of the report, a page and a workbook a day, readable by the worker’s user alone.',
  ),
  REPORT_AREAS: variable(
    form.areaReports,
    'Further reports, each of one area to its own recipients: `KIND=NAME: address, address; …`; KIND is field_office, line_of_business, client or supervisor, and NAME may be a group of them. Without addresses it is only written into `REPORT_DIR`.',
    { example: 'field_office=Houston: anna@example.com; supervisor=Ruth Santos: ruth@example.com' },
  ),
  REPORT_TITLE: variable(
    form.lineOfText,
    'The organisation’s name, at the head of its [report](cli.md). Not set: the account is named.',
  ),
  RECORD_URL_TEMPLATE_FOLLOWUP: recordUrlVariable(
    'Page of a follow-up in the service, with `{id}` in the place of its id, or `{response_id}` and `{form_id}` in the place of those of its form response: the report, its mail and its lists [link to it](operations.md#take-the-report-along), and views have it as [`record_url`](bi.md#links-to-records). Not set: the last one that was set applies, if any.',
    { example: 'https://service.example.com/followups/{id}' },
  ),
  RECORD_URL_TEMPLATE_RESOURCE: recordUrlVariable('Page of a document, in the same form.'),
  RECORD_URL_TEMPLATE_EQUIPMENT: recordUrlVariable('Page of a piece of equipment, in the same form.'),
  RECORD_URL_TEMPLATE_EMPLOYEE: recordUrlVariable('Page of a person, in the same form.'),
} as const;

type Common = typeof SERVICE &
  typeof WAREHOUSE &
  typeof SCHEDULE &
  typeof PAGES &
  typeof ALERTS &
  typeof RARE;
type CronVariable = `SYNC_CRON_${string}`;
type Variables = Common & Readonly<Record<CronVariable, Variable<string | null, undefined>>>;
type VariableName = keyof Variables;
/** Those with a default always have a value. */
export type VariableValues = {
  readonly [Name in VariableName]:
    z.output<Variables[Name]['schema']> | (Variables[Name]['default'] extends string ? never : undefined);
};

/** The variable with the schedule of one stream; not set: SYNC_CRON holds. */
export function cronVariableOf(stream: StreamName): CronVariable {
  return `SYNC_CRON_${stream.toUpperCase().replaceAll('-', '_')}`;
}

/** The documents' groups of variables, by title. */
export function variableGroupsOf(
  streams: readonly StreamDefinition[],
): Readonly<Record<string, Readonly<Record<string, Variable<unknown, string | undefined>>>>> {
  const crons = streams.map(({ name }) => {
    const about = `Schedule of \`${name}\`, in place of \`SYNC_CRON\`.`;
    return [cronVariableOf(name), variable(form.cron, about)] as const;
  });
  return {
    'The service': SERVICE,
    'The warehouse': WAREHOUSE,
    'When to sync': SCHEDULE,
    'Pages and log': PAGES,
    'Alerts and the report': ALERTS,
    'Rarely needed': { ...RARE, ...Object.fromEntries(crons) },
  };
}

export function variablesOf(streams: readonly StreamDefinition[]): Variables {
  return Object.assign({}, ...Object.values(variableGroupsOf(streams))) as Variables;
}

export const VARIABLES: Variables = variablesOf(STREAMS);
