import { secretsOfDatabaseUrl } from '../engine/database/database-url.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { nameSome } from '../shared/format.ts';
import { RECORD_KINDS, type RecordUrls } from '../shared/record-urls.ts';
import { createRedactor } from '../shared/redact.ts';
import { type AccountConfig, describeUnlimited } from './account-config.ts';
import { findAccounts } from './accounts.ts';
import { type Environment, readVariables, requireSet } from './read-variables.ts';
import { privacyProblems } from './privacy-columns.ts';
import { notificationsOf } from './notification-config.ts';
import { describeUnknown } from './unknown-variables.ts';
import { SECRETS } from './variables.ts';

interface LoadConfigOptions {
  /** The verb sends requests to the service: base URL and token are required. */
  readonly needsService: boolean;
  /** stderr is a terminal: the default of LOG_FORMAT. */
  readonly isTerminal: boolean;
  /** Names of `--account`; none: all accounts. */
  readonly accounts?: readonly string[];
}

/**
 * The path of a webhook is enough to post to it. A short path or password is redacted in its URL only, because it may also be
 * a word, and logs without that word would be unreadable.
 */
function secretsOfUrl(url: string): string[] {
  const { username, password, pathname, search } = new URL(url);
  const parts = [`${pathname}${search}`, password, decodeURIComponent(password)];
  const login = password === '' ? [] : [`${username}:${password}@`];
  return [url, ...login, ...parts.filter(({ length }) => length >= 8)];
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

export type Config = Readonly<ReturnType<typeof loadConfig>>;
export type ApiConfig = Config['api'];

const toUpper = <Text extends string>(text: Text) => text.toUpperCase() as Uppercase<Text>;

/** Throws `configuration_invalid` with every problem at once. */
export function loadConfig(env: Environment, options: LoadConfigOptions) {
  const { needsService, isTerminal, accounts: asked = [] } = options;
  const read = readVariables(env);
  const { values, problems } = read;
  const found = findAccounts(env, read, needsService);
  const notifications = notificationsOf(read, found.accounts);
  const privacy = {
    omit: values.PRIVACY_OMIT,
    pseudonymize: values.PRIVACY_PSEUDONYMIZE,
    keep: values.USERS_KEEP,
    key: values.PRIVACY_KEY,
  };
  problems.push(...privacyProblems(privacy));
  if (privacy.pseudonymize.length > 0)
    requireSet(read, 'PRIVACY_KEY', 'PRIVACY_PSEUDONYMIZE needs it (or PRIVACY_KEY_FILE)');
  if (env['SAFETY_SYNC_CONTAINER'])
    requireSet(read, 'DATABASE_URL', 'in the container image the warehouse is a PostgreSQL of yours');
  const unknown = describeUnknown(env);
  if (problems.length > 0) {
    // The right one may be missing for it.
    if (unknown !== null) problems.push(unknown);
    // A token that was pasted into the wrong variable is still a secret.
    const redact = createRedactor([...SECRETS.map((name) => env[name] ?? ''), ...found.tokens]);
    const list = problems.map((problem) => `  - ${redact(problem)}`).join('\n');
    throw new SafetySyncError('configuration_invalid', `the configuration is not usable:\n${list}`);
  }
  const accounts = selectAccounts(found.accounts, asked);
  const { DATABASE_URL: databaseUrl, PRIVACY_KEY: key } = values;
  const urls = [values.ALERT_WEBHOOK_URL, values.ALERT_HEARTBEAT_URL, values.SMTP_URL];
  return {
    /** undefined: the embedded server. */
    databaseUrl,
    /** The file with that URL; the password in it may change. */
    databaseUrlFile: env['DATABASE_URL_FILE'] || undefined,
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
    /** Of each account's runs. */
    runs: {
      followupsOverlapMs: values.FOLLOWUPS_OVERLAP_MS,
      maxDeleteRatio: values.MAX_DELETE_RATIO,
      sliceConcurrency: values.API_CONCURRENCY,
    },
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
    recordUrls: Object.fromEntries(
      RECORD_KINDS.map((kind) => [kind, values[`RECORD_URL_TEMPLATE_${toUpper(kind)}`]]),
    ) as RecordUrls,
    log: {
      level: values.LOG_LEVEL,
      format: values.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json'),
      colorize: isTerminal && (env['NO_COLOR'] ?? '') === '',
    },
    /** At least one; those that were selected for the verb. */
    accounts,
    /** Every secret, for the redactor. */
    secrets: [
      ...accounts.flatMap(({ service }) => service?.token ?? []),
      ...(databaseUrl === undefined ? [] : secretsOfDatabaseUrl(databaseUrl)),
      ...urls.flatMap((url) => (url === undefined ? [] : secretsOfUrl(url))),
      ...(key === undefined ? [] : [key]),
    ],
    notifications,
    privacy,
    /** A usable setting that may be a mistake; null: it is absent. */
    warnings: {
      unlimited: describeUnlimited(accounts, values.API_REQUESTS_PER_MINUTE),
      unknown,
    },
  };
}
