/** One account of the service: the settings that differ between accounts of one warehouse. */
import { isLoopback } from '../shared/loopback.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import { type Environment, type ReadVariables, requireSet } from './read-variables.ts';
import { cronVariableOf } from './variables.ts';

export type AccountConfig = Readonly<ReturnType<typeof buildAccount>>;
export type ScheduleConfig = AccountConfig['schedule'];

interface AccountOptions {
  /** Base URL and token are required. */
  readonly needsService: boolean;
  /** What an operator may have overlooked who set the address. */
  readonly hint?: string;
  readonly reportEmailTo?: readonly string[] | undefined;
}

/** The account that these variables describe. Adds what is missing or contradicts itself to the problems. */
export function buildAccount(
  env: Environment,
  read: ReadVariables,
  { needsService, hint = '', reportEmailTo }: AccountOptions,
) {
  const { values, problems } = read;
  const { SAFETY_BASE_URL: baseUrl, SAFETY_TOKEN: token } = values;
  if (needsService) {
    requireSet(read, 'SAFETY_BASE_URL', `the service’s address, e.g. https://service.example.com${hint}`);
    requireSet(read, 'SAFETY_TOKEN', 'the API token (or SAFETY_TOKEN_FILE)');
  }
  requireHttps(read, 'SAFETY_BASE_URL', 'the token');
  if (baseUrl !== undefined) {
    const url = new URL(baseUrl);
    const add = (problem: string): void => void problems.push(`SAFETY_BASE_URL: ${problem}`);
    if (url.username !== '' || url.password !== '') add('leave user and password out');
    if (/[?#]/.test(baseUrl)) add('leave out what follows ? or #');
  }
  const cronOf = (own: string | null | undefined) => (own === undefined ? values.SYNC_CRON : own);
  return {
    /** `account_id` in every row. */
    accountId: values.SAFETY_ACCOUNT,
    /** undefined: not configured; verbs that only read the warehouse do not need it. */
    service:
      baseUrl === undefined || token === undefined
        ? undefined
        : {
            baseUrl: normalizeBaseUrl(baseUrl),
            token,
            /** undefined: the configuration itself has the token. */
            tokenFile: env['SAFETY_TOKEN_FILE'] || undefined,
          },
    equipmentTypes: values.SAFETY_EQUIPMENT_TYPES,
    /** The time zone of the views' days; null: not set, so the stored one stays, at first UTC. */
    reportingTimezone: values.REPORTING_TIMEZONE ?? null,
    /** The organisation, for readers of its report; null: the account's name is shown. */
    reportTitle: values.REPORT_TITLE ?? null,
    /** Recipients of its report by mail; undefined: those of REPORT_EMAIL_TO. */
    reportEmailTo,
    schedule: {
      timezone: values.SYNC_TIMEZONE,
      /** By stream; null: off. */
      streams: Object.fromEntries(STREAM_NAMES.map((name) => [name, cronOf(values[cronVariableOf(name)])])),
      /** Schedule of the full refresh; null: off. */
      reconcile: values.RECONCILE_CRON,
    },
  };
}

/** Half of what a customer of the service usually has for all its integrations. */
const USUAL_REQUESTS_PER_MINUTE = 40;

/** The request budget of a service. `setting`: API_REQUESTS_PER_MINUTE; null: off. Returns null where there is no limit. */
export function requestsPerMinuteOf(baseUrl: string, setting: number | null | undefined): number | null {
  if (setting !== undefined) return setting;
  return isLoopback(new URL(baseUrl).hostname) ? null : USUAL_REQUESTS_PER_MINUTE;
}

/** null: every account with a service on another machine has a request budget. */
export function describeUnlimited(
  accounts: readonly { readonly service: { readonly baseUrl: string } | undefined }[],
  setting: number | null | undefined,
): string | null {
  const isRemote = accounts.some(
    ({ service }) => service !== undefined && !isLoopback(new URL(service.baseUrl).hostname),
  );
  if (setting !== null || !isRemote) return null;
  return `API_REQUESTS_PER_MINUTE=off: there is no request limit. Over its own limit the service refuses the requests of every integration of the customer`;
}

/** By plain http to another machine every host on the way can read the requests. `what` they send. */
export function requireHttps(
  { values, problems }: ReadVariables,
  name: 'SAFETY_BASE_URL' | 'ALERT_WEBHOOK_URL' | 'ALERT_HEARTBEAT_URL',
  what: string,
): void {
  const { protocol, hostname } = new URL(values[name] ?? 'https://unset');
  if (protocol === 'http:' && !isLoopback(hostname) && !values.SAFETY_ALLOW_INSECURE_HTTP)
    problems.push(
      `${name}: plain http:// to ${hostname} would send ${what} in the clear; use https://, or set SAFETY_ALLOW_INSECURE_HTTP=true`,
    );
}

/**
 * Host in lower case, without the scheme's own port, without `/v1`, which the client adds, and without a slash at the end.
 * Takes a usable base URL.
 */
function normalizeBaseUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/(\/+v1)?\/*$/, '');
}
