import { SafetySyncError, usageError } from '../shared/errors.ts';
import { nameSome } from '../shared/format.ts';
import { RECORD_KINDS, type RecordUrls } from '../shared/record-urls.ts';
import { createRedactor } from '../shared/redact.ts';
import { STREAMS } from '../engine/streams/index.ts';
import type { StreamDefinition, StreamName } from '../engine/streams/stream.ts';
import {
  type AccountConfig,
  baseUrlProblems,
  normalizeBaseUrl,
  type ScheduleConfig,
} from './account-config.ts';
import { type FoundAccounts, readAccountsFile } from './accounts-file.ts';
import { type Environment, isNamed, readVariables, type ReadVariables } from './read-variables.ts';
import { type PrivacyConfig, privacyProblems } from './privacy-columns.ts';
import { type NotificationConfig, notificationsOf } from './notification-config.ts';
import { findUnknownVariables } from './unknown-variables.ts';
import { cronVariableOf, SECRETS, type VariableValues, variablesOf } from './variables.ts';

interface LoadConfigOptions {
  /** The verb sends requests to the service: base URL and token are required. */
  readonly needsService: boolean;
  /** stderr is a terminal: the default of LOG_FORMAT. */
  readonly isTerminal: boolean;
  /** Names of `--account`; none: all accounts. */
  readonly accounts?: readonly string[];
  /** Default: the registry. */
  readonly streams?: readonly StreamDefinition[];
}

/** Any of these makes the variables describe an account, in addition to those of the file. */
const ACCOUNT_VARIABLES = [
  'SAFETY_BASE_URL',
  'SAFETY_TOKEN',
  'SAFETY_ACCOUNT',
  'SAFETY_EQUIPMENT_TYPES',
] as const;

/** undefined: not set. */
const textOf = (env: Environment, name: string): string | undefined => env[name] || undefined;
const isSet = (env: Environment, name: string): boolean =>
  textOf(env, name) !== undefined || textOf(env, `${name}_FILE`) !== undefined;

function scheduleOf(values: VariableValues, streams: readonly StreamDefinition[]): ScheduleConfig {
  const cronOf = (stream: StreamName): string | null => {
    const own = values[cronVariableOf(stream)];
    return own === undefined ? values.SYNC_CRON : own;
  };
  return {
    timezone: values.SYNC_TIMEZONE,
    streams: Object.fromEntries(streams.map(({ name }) => [name, cronOf(name)])),
    reconcile: values.RECONCILE_CRON,
  };
}

/** The accounts of the file and, where the variables describe one, that one before them; and the tokens in the file. */
function findAccounts(env: Environment, read: ReadVariables, options: LoadConfigOptions): FoundAccounts {
  const { values, problems } = read;
  const { SAFETY_BASE_URL: baseUrl, SAFETY_TOKEN: token, SAFETY_ACCOUNTS_FILE: file } = values;
  const allowsInsecureHttp = values.SAFETY_ALLOW_INSECURE_HTTP;
  const common = {
    schedule: scheduleOf(values, options.streams ?? STREAMS),
    reportingTimezone: values.REPORTING_TIMEZONE ?? null,
    reportTitle: values.REPORT_TITLE ?? null,
  };
  const own: AccountConfig[] = [];
  if (!isSet(env, 'SAFETY_ACCOUNTS_FILE') || ACCOUNT_VARIABLES.some((name) => isSet(env, name))) {
    const permission = 'SAFETY_ALLOW_INSECURE_HTTP=true';
    const wrong = baseUrl === undefined ? [] : baseUrlProblems(baseUrl, { allowsInsecureHttp, permission });
    problems.push(...wrong.map((problem) => `SAFETY_BASE_URL: ${problem}`));
    const lacks = (name: string, value: unknown, what: string): void => {
      if (options.needsService && value === undefined && !isNamed(problems, name))
        problems.push(`${name} is not set: ${what}`);
    };
    lacks(
      'SAFETY_BASE_URL',
      baseUrl,
      'the address of the service, e.g. https://service.example.com (lines NAME=value that were pasted into a shell need export before them)',
    );
    lacks('SAFETY_TOKEN', token, 'the API token (or SAFETY_TOKEN_FILE: a file that holds it)');
    const tokenFile = textOf(env, 'SAFETY_TOKEN_FILE');
    own.push({
      ...common,
      accountId: values.SAFETY_ACCOUNT,
      service:
        baseUrl === undefined || token === undefined
          ? undefined
          : { baseUrl: normalizeBaseUrl(baseUrl), token, tokenFile },
      equipmentTypes: values.SAFETY_EQUIPMENT_TYPES,
    });
  }
  if (file === undefined) return { accounts: own, tokens: [] };
  const taken = own.map(({ accountId }) => accountId);
  const found = readAccountsFile(file, { ...common, allowsInsecureHttp, taken, problems });
  return { accounts: [...own, ...found.accounts], tokens: found.tokens };
}

const LISTED_NAMES = 10;

function selectAccounts(all: readonly AccountConfig[], names: readonly string[]): readonly AccountConfig[] {
  const known = all.map(({ accountId }) => accountId);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw usageError(
      `--account: no account is named ${unknown.join(', ')}; there are ${nameSome(known, LISTED_NAMES)}`,
    );
  }
  return names.length === 0 ? all : all.filter(({ accountId }) => names.includes(accountId));
}

type Settings = ReturnType<typeof settingsOf>;
export type ApiConfig = Settings['api'];

export interface Config extends Settings {
  /** At least one; those that were selected for the verb. */
  readonly accounts: readonly AccountConfig[];
  readonly notifications: NotificationConfig;
  readonly privacy: PrivacyConfig;
  /** Variables that are none of ours but look so: see `findUnknownVariables`. */
  readonly unknownVariables: readonly string[];
}

const toUpper = <Text extends string>(text: Text) => text.toUpperCase() as Uppercase<Text>;

function settingsOf(env: Environment, values: VariableValues, isTerminal: boolean) {
  const recordUrls: RecordUrls = Object.fromEntries(
    RECORD_KINDS.map((kind) => [kind, values[`RECORD_URL_TEMPLATE_${toUpper(kind)}`]]),
  );
  return {
    /** undefined: the embedded server. */
    databaseUrl: values.DATABASE_URL,
    /** The file with that URL; the password in it may change. */
    databaseUrlFile: textOf(env, 'DATABASE_URL_FILE'),
    /** Limits of each account's service. */
    api: {
      concurrency: values.API_CONCURRENCY,
      /** null: off; undefined: not set. */
      requestsPerMinute: values.API_REQUESTS_PER_MINUTE,
      requestTimeoutMs: values.REQUEST_TIMEOUT_MS,
      mostRetries: values.RETRY_ATTEMPTS,
      retryMinDelayMs: values.RETRY_MIN_DELAY_MS,
      retryMaxDelayMs: values.RETRY_MAX_DELAY_MS,
    },
    followupsOverlapMs: values.FOLLOWUPS_OVERLAP_MS,
    maxDeleteRatio: values.MAX_DELETE_RATIO,
    /** Days; undefined: for ever. */
    retention: {
      deletedDays: values.RETENTION_DELETED_DAYS,
      runsDays: values.RETENTION_RUNS_DAYS,
      issuesDays: values.RETENTION_ISSUES_DAYS,
    },
    http: {
      host: values.HTTP_HOST,
      port: values.HTTP_PORT,
      allowedHosts: values.HTTP_ALLOWED_HOSTS,
      hasReport: values.HTTP_REPORT,
    },
    freshnessBudgetMinutes: values.FRESHNESS_BUDGET_MINUTES,
    /** Pages of records in the service. */
    recordUrls,
    log: {
      level: values.LOG_LEVEL,
      format: values.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json'),
      colorize: isTerminal && (env['NO_COLOR'] ?? '') === '',
    },
  } as const;
}

/** Throws `configuration_invalid` with every problem at once. */
export function loadConfig(env: Environment, options: LoadConfigOptions): Config {
  const { isTerminal, accounts: asked = [], streams = STREAMS } = options;
  const variables = variablesOf(streams);
  const read = readVariables(env, variables);
  const { values, problems } = read;
  const found = findAccounts(env, read, options);
  const notifications = notificationsOf(read, found.accounts);
  const privacy: PrivacyConfig = {
    omit: values.PRIVACY_OMIT,
    pseudonymize: values.PRIVACY_PSEUDONYMIZE,
    keep: values.USERS_KEEP,
    key: values.PRIVACY_KEY,
  };
  const isKeyBad = isNamed(problems, 'PRIVACY_KEY');
  problems.push(...privacyProblems({ ...privacy, key: isKeyBad ? '' : privacy.key }, streams));
  const isContainer = (env['SAFETY_SYNC_CONTAINER'] ?? '') !== '';
  if (isContainer && values.DATABASE_URL === undefined && !isNamed(problems, 'DATABASE_URL')) {
    problems.push('DATABASE_URL is not set: in the container image the warehouse is a PostgreSQL of yours');
  }
  if (values.RETRY_MIN_DELAY_MS > values.RETRY_MAX_DELAY_MS && !isNamed(problems, 'RETRY_M')) {
    problems.push('RETRY_MIN_DELAY_MS is larger than RETRY_MAX_DELAY_MS');
  }
  if (problems.length > 0) {
    // A token that was pasted into the wrong variable is still a secret.
    const redact = createRedactor([...SECRETS.map((name) => env[name] ?? ''), ...found.tokens]);
    const list = problems.map((problem) => `  - ${redact(problem)}`).join('\n');
    throw new SafetySyncError('configuration_invalid', `the configuration is not usable:\n${list}`);
  }
  return Object.freeze({
    ...settingsOf(env, values, isTerminal),
    accounts: selectAccounts(found.accounts, asked),
    notifications,
    privacy,
    unknownVariables: findUnknownVariables(env, Object.keys(variables)),
  });
}
