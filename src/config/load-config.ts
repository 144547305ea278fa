import { isIP } from 'node:net';
import { SafetySyncError } from '../shared/errors.ts';
import { createBlotter } from '../shared/logger.ts';
import type { StreamName } from '../streams/stream.ts';
import { type Environment, readVariables, type ReadVariables } from './read-variables.ts';

export interface ServiceConfig {
  /** Without `/v1` and without a slash at the end. */
  readonly baseUrl: string;
  readonly token: string;
}

export interface ApiConfig {
  readonly concurrency: number;
  readonly requestsPerMinute: number | undefined;
  readonly requestTimeoutMs: number;
  readonly retryAttempts: number;
  readonly retryMinDelayMs: number;
  readonly retryMaxDelayMs: number;
}

export interface Config {
  readonly accountId: string;
  /** undefined: not configured; verbs that only read the warehouse do without. */
  readonly service: ServiceConfig | undefined;
  readonly equipmentTypes: readonly string[];
  /** undefined: the embedded server. */
  readonly databaseUrl: string | undefined;
  /** In which days begin for the views. */
  readonly reportingTimezone: string;
  readonly api: ApiConfig;
  readonly followupsOverlapMs: number;
  readonly maxDeleteRatio: number;
  readonly schedule: {
    readonly timezone: string;
    /** null: off. */
    readonly streams: Readonly<Record<StreamName, string | null>>;
    readonly reconcile: string | null;
  };
  readonly http: { readonly host: string; readonly port: number };
  readonly freshnessBudgetMinutes: number;
  readonly log: {
    readonly level: string;
    readonly format: 'json' | 'pretty';
    readonly colorize: boolean;
  };
}

export interface LoadConfigOptions {
  /** The verb asks the service: base URL and token are required. */
  readonly needsService: boolean;
  /** stderr is a terminal: the default of LOG_FORMAT. */
  readonly isTerminal: boolean;
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** What is wrong with a base URL that is a URL. */
function baseUrlProblems(text: string, allowInsecureHttp: boolean): string[] {
  const url = new URL(text);
  const problems: string[] = [];
  if (url.username !== '' || url.password !== '')
    problems.push('SAFETY_BASE_URL: leave user and password out');
  if (url.search !== '' || url.hash !== '') problems.push('SAFETY_BASE_URL: leave out what follows ? or #');
  if (/\/v1(\/|$)/.test(url.pathname)) {
    problems.push('SAFETY_BASE_URL: leave /v1 out; the worker adds /v1/METHOD itself');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowInsecureHttp) {
    problems.push(
      `SAFETY_BASE_URL: plain http:// to ${url.hostname} would send the token in the clear; use https://, or set SAFETY_ALLOW_INSECURE_HTTP=true`,
    );
  }
  return problems;
}

function serviceOf(
  { values }: ReadVariables,
  needsService: boolean,
  problems: string[],
): ServiceConfig | undefined {
  const { SAFETY_BASE_URL: baseUrl, SAFETY_TOKEN: token } = values;
  const isNamed = (name: string) => problems.some((problem) => problem.startsWith(name));
  if (baseUrl !== undefined)
    problems.push(...baseUrlProblems(baseUrl, values.SAFETY_ALLOW_INSECURE_HTTP === true));
  if (needsService && baseUrl === undefined && !isNamed('SAFETY_BASE_URL')) {
    problems.push('SAFETY_BASE_URL is not set: the address of the service, e.g. https://service.example.com');
  }
  if (needsService && token === undefined && !isNamed('SAFETY_TOKEN')) {
    problems.push('SAFETY_TOKEN is not set: the API token (or SAFETY_TOKEN_FILE: a file that holds it)');
  }
  if (baseUrl === undefined || token === undefined) return undefined;
  return { baseUrl: baseUrl.replace(/\/+$/, ''), token };
}

/** Throws `configuration_invalid` with every problem at once. */
export function loadConfig(env: Environment, { needsService, isTerminal }: LoadConfigOptions): Config {
  const read = readVariables(env);
  const problems = [...read.problems];
  const { values } = read;
  const service = serviceOf(read, needsService, problems);
  const isContainer = (env['SAFETY_SYNC_CONTAINER'] ?? '') !== '';
  if (
    isContainer &&
    values.DATABASE_URL === undefined &&
    !problems.some((one) => one.startsWith('DATABASE_URL'))
  ) {
    problems.push('DATABASE_URL is not set: in the container image the warehouse is a PostgreSQL of yours');
  }
  if ((values.RETRY_MIN_DELAY_MS ?? 0) > (values.RETRY_MAX_DELAY_MS ?? Infinity)) {
    problems.push('RETRY_MIN_DELAY_MS is larger than RETRY_MAX_DELAY_MS');
  }
  if (problems.length > 0) {
    // A token that was pasted into the wrong variable is no less secret there.
    const blot = createBlotter([env['SAFETY_TOKEN'] ?? '', env['DATABASE_URL'] ?? '']);
    const list = problems.map((problem) => `  - ${blot(problem)}`).join('\n');
    throw new SafetySyncError('configuration_invalid', `the configuration is not usable:\n${list}`);
  }
  const cron = (own: string | null | undefined) => (own === undefined ? (values.SYNC_CRON ?? null) : own);
  return Object.freeze<Config>({
    accountId: values.SAFETY_ACCOUNT ?? 'default',
    service,
    equipmentTypes: values.SAFETY_EQUIPMENT_TYPES ?? [],
    databaseUrl: values.DATABASE_URL,
    reportingTimezone: values.REPORTING_TIMEZONE ?? 'UTC',
    api: {
      concurrency: values.API_CONCURRENCY ?? 4,
      requestsPerMinute: values.API_REQUESTS_PER_MINUTE,
      requestTimeoutMs: values.REQUEST_TIMEOUT_MS ?? 60_000,
      retryAttempts: values.RETRY_ATTEMPTS ?? 8,
      retryMinDelayMs: values.RETRY_MIN_DELAY_MS ?? 1_000,
      retryMaxDelayMs: values.RETRY_MAX_DELAY_MS ?? 60_000,
    },
    followupsOverlapMs: values.FOLLOWUPS_OVERLAP_MS ?? 600_000,
    maxDeleteRatio: values.MAX_DELETE_RATIO ?? 0.5,
    schedule: {
      timezone: values.SYNC_TIMEZONE ?? 'UTC',
      streams: {
        resources: cron(values.SYNC_CRON_RESOURCES),
        followups: cron(values.SYNC_CRON_FOLLOWUPS),
        'training-employee-status': cron(values.SYNC_CRON_TRAINING_EMPLOYEE_STATUS),
        equipments: cron(values.SYNC_CRON_EQUIPMENTS),
        users: cron(values.SYNC_CRON_USERS),
      },
      reconcile: values.RECONCILE_CRON ?? null,
    },
    http: { host: values.HTTP_HOST ?? '127.0.0.1', port: values.HTTP_PORT ?? 8080 },
    freshnessBudgetMinutes: values.FRESHNESS_BUDGET_MINUTES ?? 60,
    log: {
      level: values.LOG_LEVEL ?? 'info',
      format: values.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json'),
      colorize: isTerminal && (env['NO_COLOR'] ?? '') === '',
    },
  });
}
