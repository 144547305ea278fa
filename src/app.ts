/** Composition root: builds all components from the configuration. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type ApiClient, createApiClient } from './engine/api/client.ts';
import {
  type BudgetStore,
  createMemoryStore,
  createRequestBudget,
  evenRateOf,
  rateOf,
} from './engine/api/request-budget.ts';
import { type AccountConfig, requestsPerMinuteOf } from './config/account-config.ts';
import type { ApiConfig, Config } from './config/load-config.ts';
import { createUrlReader, readTokenFile } from './config/read-variables.ts';
import { secretsOfDatabaseUrl } from './engine/database/database-url.ts';
import { SafetySyncError } from './shared/errors.ts';
import { createLogger, type Logger } from './shared/logger.ts';
import { createRedactor } from './shared/redact.ts';
import { formatTime } from './shared/format.ts';
import { type Clock, systemClock } from './shared/time.ts';
import { STREAM_NAMES } from './engine/streams/index.ts';
import type { RunContext, RunEvents } from './engine/sync/run.ts';
import { createSourceGuard } from './engine/sync/source.ts';
import { IDENTITY_METHOD } from './engine/streams/optional-methods.ts';
import { createBudgetStore } from './engine/control-tables/request-budget.ts';
import type { MigrateOptions } from './warehouse/migrate.ts';
import { openWarehouse } from './warehouse/open-warehouse.ts';
import { acquireEmbeddedServer } from './embedded/server.ts';
import { writeViewSettings } from './warehouse/view-settings.ts';
import { VERSION } from './version.ts';

export const EMBEDDED_DATA_DIR = '.data/postgres';

export type App = Awaited<ReturnType<typeof createApp>>;
export type Account = App['accounts'][number];

interface BuildApiClientOptions {
  readonly log: Logger;
  /** The budget that the account's processes share; null: none can be read, so requests start at an even rate. */
  readonly store: BudgetStore | null;
  readonly clock?: Clock;
  /** Refuses requests to a service that the account does not belong to. */
  readonly admit?: (method: string) => Promise<void>;
  /** Adds secrets that were read later, for example a new token. */
  readonly addSecrets?: (secrets: readonly string[]) => void;
}

export function buildApiClient(
  { service }: AccountConfig,
  settings: ApiConfig,
  { log, store, clock = systemClock, admit, addSecrets }: BuildApiClientOptions,
): ApiClient {
  if (service === undefined) {
    throw new SafetySyncError('configuration_invalid', 'SAFETY_BASE_URL and SAFETY_TOKEN are not set');
  }
  const { tokenFile, baseUrl } = service;
  const { requestsPerMinute: setting, ...limits } = settings;
  const perMinute = requestsPerMinuteOf(baseUrl, setting);
  const toRate = store === null ? evenRateOf : rateOf;
  return createApiClient({
    ...limits,
    ...service,
    budget: createRequestBudget({
      store: store ?? createMemoryStore(clock),
      rate: perMinute === null ? null : toRate(perMinute),
      clock,
      random: Math.random,
      onBlocked: (untilMs) =>
        log.warn(
          { blocked_until: new Date(untilMs).toISOString() },
          `waiting for the request limit until ${formatTime(untilMs)}`,
        ),
    }),
    readToken: tokenFile === undefined ? undefined : () => readTokenFile(tokenFile),
    admit,
    onNewToken: (token) => {
      addSecrets?.([token]);
      log.info('the token was replaced in its file: using the new one');
    },
    clock,
    userAgent: `safety-sync/${VERSION}`,
    onRequest: (request) => log.debug(request, `request ${request.method}`),
    onRetry: ({ method, attempt, error }) =>
      log.warn(
        { method, attempt, error_code: error.code, request_id: error.requestId },
        `${error.message}; retrying`,
      ),
  });
}

interface CreateAppOptions {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Prints a line at the terminal. */
  readonly say: (line: string) => void;
  /** The database on the embedded server. */
  readonly embeddedDatabase?: string;
  readonly clock?: Clock;
}

async function useEmbeddedServer({ embeddedDatabase: database = 'safety_sync', say }: CreateAppOptions) {
  const dataDir = resolve(EMBEDDED_DATA_DIR);
  const server = await acquireEmbeddedServer({ dataDir, database });
  const how = server.joined ? 'already running' : 'started';
  say(`DATABASE_URL is not set: using the embedded PostgreSQL in ${dataDir} (${how})`);
  return server;
}

export async function createApp(options: CreateAppOptions) {
  const { config, signal, clock = systemClock } = options;
  const secrets = [...config.secrets];
  const addSecrets = (more: readonly string[]): void => void secrets.push(...more);
  // Secrets that are added to the list later are removed from the log as well.
  const log = createLogger({ ...config.log, secrets });
  const embedded = config.databaseUrl === undefined ? await useEmbeddedServer(options) : undefined;
  const url = config.databaseUrl ?? embedded?.url ?? '';
  const readUrl = createUrlReader(url, config.databaseUrlFile, (read) => {
    addSecrets(secretsOfDatabaseUrl(read));
    log.info('the database password was replaced in its file: connecting with the new one');
  });
  const warehouse = openWarehouse(readUrl, {
    warn: (message) => {
      log.warn(message);
      migrationWaits = message;
    },
    signal,
  });
  /** The lock or session for which the migration waits; null: it does not wait. */
  let migrationWaits: string | null = null;
  const { connection } = warehouse;
  const { db } = connection;
  const accountIds = config.accounts.map(({ accountId }) => accountId);
  const owner = `${hostname()} pid ${process.pid}`;
  const clients: ApiClient[] = [];

  /** One account with its own components, so that its failures affect no other account. */
  function buildAccount(account: AccountConfig) {
    const { accountId } = account;
    const ownLog =
      config.accounts.length === 1
        ? log
        : log.child({ account_id: accountId }, { msgPrefix: `${accountId}: ` });
    let api: ApiClient | undefined;
    const address = account.service?.baseUrl ?? '';
    const source = createSourceGuard({ accountId, address, api: () => made.api, db, clock, signal });
    const made = {
      config: account,
      id: accountId,
      /** Adds the account to each line when there are several. */
      log: ownLog,
      source,
      /** Streams with a schedule. */
      scheduled: STREAM_NAMES.filter((stream) => (account.schedule.streams[stream] ?? null) !== null),
      /** The client of its service, created on first use. Error: `configuration_invalid`. */
      get api(): ApiClient {
        if (api !== undefined) return api;
        api = buildApiClient(account, config.api, {
          log: ownLog,
          store: createBudgetStore(db, accountId),
          clock,
          admit: async (method) => {
            // The request for the identity decides about the others.
            if (method !== IDENTITY_METHOD) await source.assertSame();
          },
          addSecrets,
        });
        clients.push(api);
        return api;
      },
      runContext: (events: RunEvents = {}): RunContext => ({
        settings: { ...config.runs, accountId, equipmentTypes: account.equipmentTypes },
        privacy: config.privacy,
        retention: config.retention,
        // Read when a run begins.
        get databaseUrl() {
          return warehouse.url;
        },
        db,
        api: () => made.api,
        clock,
        owner,
        signal,
        events,
      }),
    };
    return made;
  }

  const accounts = config.accounts.map(buildAccount);

  /** Not of an account whose runs are refused, because its readers would see settings that are meant for another one. */
  async function writeReportingSettings(): Promise<void> {
    const zones = [];
    for (const { id, source, config: one } of accounts)
      if (!(await source.isElsewhere())) zones.push({ accountId: id, timezone: one.reportingTimezone });
    const moved = await writeViewSettings(db, zones, config.recordUrls);
    for (const { accountId, timezone, before } of moved) {
      log.warn(
        { account_id: accountId, timezone, before },
        `days begin in ${timezone} from now on (REPORTING_TIMEZONE) and no longer in ${before}: past days are counted again`,
      );
    }
  }

  return {
    config,
    log,
    clock,
    warehouse,
    connection,
    db,
    /** Whether the warehouse is on the embedded server. */
    isEmbedded: embedded !== undefined,
    /** Host and process id, as recorded in `runs.owner`. */
    owner,
    /** Removes the secrets of the configuration from a text. */
    redact: createRedactor(secrets),
    /** At least one. */
    accounts,
    accountIds,
    /** Aborted when a stop of the process is requested. */
    signal,
    /**
     * Applies migrations; as soon as the tables are migrated, writes each account's reporting time zone, unless `mayStore` throws.
     */
    migrate: ({ mayStore, ...how }: MigrateOptions & { readonly mayStore?: () => Promise<void> } = {}) =>
      warehouse
        .migrate({
          ...how,
          onTables: async () => {
            await mayStore?.();
            await writeReportingSettings();
            await how.onTables?.();
          },
        })
        .finally(() => (migrationWaits = null)),
    get migrationWaits() {
      return migrationWaits;
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await connection.close();
      await embedded?.release();
    },
  };
}
