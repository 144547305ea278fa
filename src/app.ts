/** Composition root: builds everything from the configuration and hands it on. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type ApiClient, createApiClient } from './api/client.ts';
import type { Config } from './config/load-config.ts';
import { createOutageLog, type OutageLog } from './ops/outage-log.ts';
import { SafetySyncError } from './shared/errors.ts';
import { createBlotter, createLogger, type Logger } from './shared/logger.ts';
import { type Clock, systemClock } from './shared/time.ts';
import type { RunContext, RunEvents } from './sync/run.ts';
import type { MigrationOutcome } from './warehouse/migrate.ts';
import { openWarehouse, type Warehouse } from './warehouse/open-warehouse.ts';
import { writeReportingTimezone } from './warehouse/reporting.ts';
import { VERSION } from './version.ts';

export const EMBEDDED_DATA_DIR = '.data/postgres';
export const EMBEDDED_DATABASE = 'safety_sync';

export interface App {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly warehouse: Warehouse;
  /** Host and process: who holds a stream, in `runs.owner`. */
  readonly owner: string;
  readonly outages: OutageLog;
  /** Takes the secrets of the configuration out of a text. */
  readonly blot: (text: string) => string;
  /** The client of the service; `configuration_invalid` when none is configured. */
  readonly api: ApiClient;
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal;
  /** Brings the warehouse up to date, and tells it in which time zone this account reports. */
  migrate(): Promise<MigrationOutcome>;
  runContext(events?: RunEvents): RunContext;
  close(): Promise<void>;
}

export interface CreateAppOptions {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Where one-line notes for the person at the terminal go. */
  readonly say: (line: string) => void;
  /** The database on the embedded server. */
  readonly embeddedDatabase?: string;
  readonly clock?: Clock;
}

function describeOwner(): string {
  return `${hostname()} pid ${process.pid}`;
}

/** A short password is also a word: blotting it out everywhere would make logs unreadable, so only its place in a URL is. */
function secretsOf(config: Config): string[] {
  const secrets = config.service === undefined ? [] : [config.service.token];
  if (config.databaseUrl === undefined) return secrets;
  const { username, password } = new URL(config.databaseUrl);
  if (password === '') return secrets;
  const plain = decodeURIComponent(password);
  return [...secrets, `${username}:${password}@`, ...(plain.length >= 8 ? [password, plain] : [])];
}

export function buildLogger(config: Config): Logger {
  return createLogger({ ...config.log, secrets: secretsOf(config) });
}

export interface BuildApiClientOptions {
  readonly clock?: Clock;
  /** In an outage that was told already nobody wants to hear of every retry. */
  readonly isOutage?: () => boolean;
}

export function buildApiClient(
  config: Config,
  log: Logger,
  { clock = systemClock, isOutage = () => false }: BuildApiClientOptions = {},
): ApiClient {
  if (config.service === undefined) {
    throw new SafetySyncError('configuration_invalid', 'SAFETY_BASE_URL and SAFETY_TOKEN are not set');
  }
  return createApiClient({
    ...config.api,
    ...config.service,
    clock,
    userAgent: `safety-sync/${VERSION}`,
    onRetry: ({ method, attempt, delayMs, error }) => {
      log[isOutage() ? 'debug' : 'warn'](
        {
          method,
          attempt,
          delay_ms: Math.round(delayMs),
          error_code: error.code,
          request_id: error.requestId,
        },
        `${error.message}; asking again in ${(delayMs / 1000).toFixed(1)} s`,
      );
    },
  });
}

export async function createApp(options: CreateAppOptions): Promise<App> {
  const { config, signal, clock = systemClock } = options;
  const log = buildLogger(config);
  const warehouse = await openWarehouse({
    url: config.databaseUrl,
    embedded: {
      dataDir: resolve(EMBEDDED_DATA_DIR),
      database: options.embeddedDatabase ?? EMBEDDED_DATABASE,
    },
    applicationName: 'safety-sync',
    maxConnections: 3,
    say: options.say,
  });
  let api: ApiClient | undefined;
  const outages = createOutageLog({ log, clock });
  const owner = describeOwner();
  const app: App = {
    config,
    log,
    clock,
    warehouse,
    owner,
    outages,
    blot: createBlotter(secretsOf(config)),
    get api() {
      const isOutage = () => outages.current('service') !== undefined;
      api ??= buildApiClient(config, log, { clock, isOutage });
      return api;
    },
    signal,
    async migrate() {
      const outcome = await warehouse.migrate();
      await writeReportingTimezone(warehouse.connection.db, config.accountId, config.reportingTimezone);
      return outcome;
    },
    runContext: (events = {}) => ({
      settings: {
        accountId: config.accountId,
        equipmentTypes: config.equipmentTypes,
        followupsOverlapMs: config.followupsOverlapMs,
        maxDeleteRatio: config.maxDeleteRatio,
        readers: config.api.concurrency,
      },
      databaseUrl: warehouse.url,
      db: warehouse.connection.db,
      api: () => app.api,
      clock: app.clock,
      owner,
      signal,
      events,
    }),
    async close() {
      await api?.close();
      await warehouse.close();
    },
  };
  return app;
}
