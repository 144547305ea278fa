import type { ApiClient } from '../../src/engine/api/client.ts';
import { type Clock, MINUTE_MS, systemClock } from '../../src/shared/time.ts';
import { STREAMS } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import type { SyncSettings } from '../../src/engine/reading/read-request.ts';
import type { PrivacySettings } from '../../src/engine/privacy/settings.ts';
import type { RunEnding } from '../../src/engine/control-tables/runs.ts';
import type { RunContext, RunEvents, RunRequest, RunResult } from '../../src/engine/sync/run.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import type { Retention } from '../../src/engine/history/retention.ts';
import { type Connection, openConnection } from '../../src/engine/database/connection.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { clientFor } from './api-client.ts';
import { createTestDatabase, createTestDatabaseOnce, type TestDatabase } from './test-database.ts';
import { clockOf, NOON, type TestTime } from './test-clock.ts';
import { createHash } from 'node:crypto';
import { inject } from 'vitest';
import type { Compared } from './source-oracle.ts';

export interface TestWorkerOptions {
  readonly sandbox?: SandboxOptions;
  readonly clock?: Clock;
  readonly settings?: Partial<SyncSettings>;
  readonly retention?: Retention;
  readonly privacy?: PrivacySettings;
  readonly mostRetries?: number;
  readonly requestTimeoutMs?: number;
  readonly events?: RunEvents;
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
  syncAll(): Promise<void>;
  query<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export const SMALL_SANDBOX = {
  followups: 60,
  employees: 20,
  equipment: 30,
  resources: 25,
  users: 20,
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
  const context: RunContext = {
    settings,
    privacy: options.privacy ?? { omit: [], pseudonymize: [] },
    retention: options.retention ?? {},
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
    for (const { name } of STREAMS) results.push(await run(name, request));
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
    async syncAll() {
      for (const result of await runAll({ force: true })) if (result.outcome === 'failed') throw result.error;
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

export interface TimedWorkerOptions extends TestWorkerOptions {
  /** Offset of this machine's clock. */
  readonly ourClockOffMs?: number;
  /** Offset of the service's clock. */
  readonly serviceClockOffMs?: number;
}

/** A worker and a service with times that the test moves. */
export interface TimedWorker extends TestWorker {
  readonly time: TestTime;
  /** By the service's clock. */
  serviceNow(): number;
}

export async function createTimedWorker(options: TimedWorkerOptions = {}): Promise<TimedWorker> {
  const time: TestTime = { now: NOON };
  const serviceNow = () => time.now + (options.serviceClockOffMs ?? 0);
  const worker = await createTestWorker({
    clock: clockOf(time, options.ourClockOffMs ?? 0),
    ...options,
    sandbox: { seed: 7, clock: serviceNow, ...options.sandbox },
  });
  return { ...worker, time, serviceNow };
}

/** Returns the run; throws its error. */
export function expectSucceeded<T extends RunEnding>(result: T): Extract<T, { outcome: 'succeeded' }> {
  if (result.outcome === 'failed') throw result.error;
  if (result.outcome === 'skipped') throw new Error(`skipped: ${result.reason}`);
  return result as Extract<T, { outcome: 'succeeded' }>;
}

interface Past<W extends TestWorker> {
  /** Unique among all test files. */
  readonly name: string;
  /** Deterministic: the source of each worker is the same. */
  readonly create: (database: TestDatabase) => Promise<W>;
  /** Changes the source and stores it. With `isStored` only the source is changed, because the warehouse has it already. */
  readonly happen: (worker: W, isStored: boolean) => Promise<void>;
}

/**
 * A worker on a warehouse with a past. The first test of a run that needs it stores the past, and every test clones that
 * warehouse: a clone costs as much as an empty warehouse, and each run costs more.
 */
export async function createWorkerWithPast<W extends TestWorker>(past: Past<W>): Promise<W> {
  const { name, create, happen } = past;
  // A background worker of Citus is connected to each of its databases, so they cannot be cloned.
  if (inject('testServerNodes').length > 1) {
    const first = await create(await createTestDatabase());
    await happen(first, false);
    return first;
  }
  const key = createHash('sha1').update(name).digest('hex').slice(0, 12);
  const original = await createTestDatabaseOnce(key, async (database) => {
    const worker = await create({ ...database, drop: () => Promise.resolve() });
    await happen(worker, false).finally(() => worker.close());
  });
  const worker = await create(await createTestDatabase(original));
  await happen(worker, true);
  return worker;
}

/** A worker on a warehouse in which every stream was synced once. */
export async function createSyncedWorker(sandbox: SandboxOptions = {}): Promise<TestWorker> {
  // Each of its services is made at the same moment, the beginning of the test run, so that all have the same records.
  const began = inject('testRunBegan');
  // The stored training list is older than every list of a clone's service.
  let laterMs = 0;
  return await createWorkerWithPast({
    name: `synced ${JSON.stringify(sandbox)}`,
    create: async (database) => {
      const made: { atMs?: number } = {};
      const clock = () => (made.atMs === undefined ? began : began + laterMs + Date.now() - made.atMs);
      const worker = await createTestWorker({ database, sandbox: { ...sandbox, clock } });
      made.atMs = Date.now();
      return worker;
    },
    async happen(worker, isStored) {
      if (isStored) laterMs = MINUTE_MS;
      else await worker.syncAll();
    },
  });
}

type Queried = Pick<Compared, 'query'>;

/**
 * The position of every row version in schema safety, with its creating and locking transactions: any write changes it, even
 * of equal values. The calendar is skipped, because only `migrate` writes it and its thousands of days would take most of
 * the time.
 */
export async function rowVersions(worker: Queried): Promise<Record<string, string>> {
  const tables = await worker.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'safety' and c.relkind = 'r' and c.relname <> 'calendar' order by 1`,
  );
  const marks = tables.map(
    ({ name }) =>
      `select '${name}' as name,
         count(*) || ' rows ' || coalesce(md5(string_agg(concat_ws(' ', ctid, xmin, xmax), ',' order by ctid)), '') as mark
       from safety."${name}"`,
  );
  const rows = await worker.query<{ name: string; mark: string }>(marks.join(' union all '));
  return Object.fromEntries(rows.map(({ name, mark }) => [name, mark]));
}

type Numbers = 'records_read' | 'inserted' | 'updated' | 'unchanged' | 'deleted' | 'rejected' | 'requests';
type Texts = 'error_code' | 'request_id' | 'note' | 'watermark_before' | 'watermark_after';
interface RunRow extends Readonly<Record<Numbers, number> & Record<Texts, string | null>> {
  readonly run_id: string;
  readonly status: string;
  readonly is_finished: boolean;
}

/** Newest first. */
export async function runsOf(worker: Queried, stream: string): Promise<RunRow[]> {
  return await worker.query<RunRow>(
    `select run_id::text, status, records_read::int, inserted::int, updated::int, unchanged::int, deleted::int,
       rejected::int, requests::int, error_code, request_id, note, watermark_before::text, watermark_after::text,
       finished_at is not null as is_finished
     from safety_sync.runs r where stream = '${stream}' order by r.run_id desc`,
  );
}

interface IssueRow {
  readonly record_id: string | null;
  readonly field: string | null;
  readonly kind: string;
  readonly value: unknown;
  readonly occurrences: number;
  readonly is_open: boolean;
}

/** By kind, field and record. */
export async function issuesOf(worker: Queried, stream: string): Promise<IssueRow[]> {
  const found = await worker.query<Omit<IssueRow, 'value'> & { value: string | null }>(
    `select record_id, field, kind, value::text as value, occurrences::int, resolved_at is null as is_open
     from safety_sync.data_issues where stream = '${stream}' order by kind, field, record_id`,
  );
  return found.map((row) => ({
    ...row,
    value: row.value === null ? null : (JSON.parse(row.value) as unknown),
  }));
}

/** The newest stored training list and change. */
export async function stateOf(
  worker: Queried,
  stream: string,
): Promise<{ watermark: number | null; calculatedAt: number | null }> {
  const [row] = await worker.query<{ watermark: number | null; calculated: number | null }>(
    `select (extract(epoch from watermark) * 1000)::float8 as watermark,
       (extract(epoch from calculated_at) * 1000)::float8 as calculated
     from safety_sync.stream_state where stream = '${stream}'`,
  );
  return { watermark: row?.watermark ?? null, calculatedAt: row?.calculated ?? null };
}
