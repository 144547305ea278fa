import type { ApiClient } from '../../src/engine/api/client.ts';
import { type Clock, systemClock } from '../../src/shared/time.ts';
import { STREAMS } from '../../src/engine/streams/index.ts';
import type { StreamDefinition, StreamName } from '../../src/engine/streams/stream.ts';
import type { SyncSettings } from '../../src/engine/reading/read-request.ts';
import type { PrivacySettings } from '../../src/engine/privacy/settings.ts';
import type { RunContext, RunEvents, RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import type { Retention } from '../../src/engine/history/retention.ts';
import { type Connection, openConnection } from '../../src/engine/database/connection.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { clientFor } from './api-client.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

export interface TestWorkerOptions {
  readonly sandbox?: SandboxOptions;
  readonly clock?: Clock;
  readonly settings?: Partial<SyncSettings>;
  readonly retention?: Retention;
  readonly privacy?: PrivacySettings;
  readonly mostRetries?: number;
  readonly requestTimeoutMs?: number;
  readonly events?: RunEvents;
  /** Default: the registry. */
  readonly streams?: readonly StreamDefinition[];
  /** Default: a new one on the server of this test run. */
  readonly database?: TestDatabase;
}

/** The worker's real code against a sandbox over HTTP and a new database. */
export interface TestWorker {
  readonly sandbox: Sandbox;
  readonly databaseUrl: string;
  readonly connection: Connection;
  readonly settings: SyncSettings;
  /** The clock of its runs. */
  readonly context: RunContext;
  run(stream: StreamName, request?: Partial<RunRequest>): Promise<RunResult>;
  /** All streams, in the worker's order. */
  runAll(request?: Partial<RunRequest>): Promise<RunResult[]>;
  /** All streams, which must succeed, and statistics for views, as autovacuum collects them on a server of users. */
  syncAll(request?: Partial<RunRequest>): Promise<void>;
  query<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export const SMALL_SANDBOX = {
  followups: 130,
  employees: 40,
  equipment: 60,
  resources: 25,
  users: 30,
} as const;

export const createTestClient = (
  sandbox: Sandbox,
  clock: Clock,
  { requestTimeoutMs = 10_000, mostRetries = 8 }: TestWorkerOptions,
): ApiClient => clientFor(sandbox, { clock, requestTimeoutMs, mostRetries });

export const settingsFor = (sandbox: Sandbox, { settings }: TestWorkerOptions): SyncSettings => ({
  accountId: 'default',
  equipmentTypes: sandbox.equipmentTypes,
  followupsOverlapMs: 600_000,
  maxDeleteRatio: 0.5,
  sliceConcurrency: 4,
  ...settings,
});

/** Settings of the program for a service and a warehouse of tests. */
export const serviceEnv = ({ sandbox, databaseUrl }: Pick<TestWorker, 'sandbox' | 'databaseUrl'>) => ({
  SAFETY_BASE_URL: sandbox.url,
  SAFETY_TOKEN: sandbox.token,
  SAFETY_EQUIPMENT_TYPES: sandbox.equipmentTypes.join(','),
  DATABASE_URL: databaseUrl,
});

/** A second account in the warehouse of `worker`, all of whose streams are synced once; it has ids of the first one. */
export async function syncSecondAccount(worker: TestWorker): Promise<void> {
  const south = await createTestWorker({
    sandbox: { seed: 9, size: SMALL_SANDBOX },
    database: { url: worker.databaseUrl, drop: () => Promise.resolve() },
    settings: { accountId: 'south' },
  });
  await south.syncAll();
  await south.close();
}

export async function createTestWorker(options: TestWorkerOptions = {}): Promise<TestWorker> {
  const sandbox = await createSandbox({ size: SMALL_SANDBOX, ...options.sandbox });
  const database = options.database ?? (await createTestDatabase());
  const connection = openConnection({ url: database.url, applicationName: 'test', max: 2 });
  const clock = options.clock ?? systemClock;
  const api = createTestClient(sandbox, clock, options);
  const settings = settingsFor(sandbox, options);
  const streams = options.streams ?? STREAMS;
  const context: RunContext = {
    settings,
    streams,
    ...(options.privacy === undefined ? {} : { privacy: options.privacy }),
    ...(options.retention === undefined ? {} : { retention: options.retention }),
    databaseUrl: database.url,
    db: connection.db,
    api: () => api,
    clock,
    owner: 'test',
    signal: new AbortController().signal,
    events: options.events ?? {},
  };
  const run = (stream: StreamName, request: Partial<RunRequest> = {}) =>
    runStream(context, { stream, kind: 'sync', trigger: 'manual', ...request });
  async function runAll(request: Partial<RunRequest> = {}): Promise<RunResult[]> {
    const results: RunResult[] = [];
    for (const { name } of streams) results.push(await run(name, request));
    return results;
  }
  return {
    sandbox,
    databaseUrl: database.url,
    connection,
    settings,
    context,
    run,
    runAll,
    async syncAll(request = { force: true }) {
      for (const result of await runAll(request)) if (result.outcome === 'failed') throw result.error;
      await connection.query('analyze');
    },
    query: (text) => connection.query(text),
    async close() {
      await api.close();
      await connection.close();
      await sandbox.close();
      await database.drop();
    },
  };
}
