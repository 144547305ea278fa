/** Builds the status of a worker: the last read of the warehouse, and the state that only the process has. */
import type { Notifier } from '../alerts/notifier.ts';
import type { Account, App } from '../../app.ts';
import { buildStatus } from '../status/build-status.ts';
import { type AccountsRead, readAccounts } from '../status/read-accounts.ts';
import { readVolumes, type Volumes } from '../status/read-volumes.ts';
import type { Status, WorkerState } from '../status/status.ts';
import type { StatusFacts, WarehouseState } from '../status/status-facts.ts';
import { storageRulesOf } from '../status/storage-rules.ts';
import { formatDuration } from '../../shared/format.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { readCleaningProgress } from '../../engine/privacy/settings.ts';
import { VERSION } from '../../version.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { readReportingTimezones } from '../../engine/history/reporting.ts';
import { readStoredParts } from '../../engine/control-tables/stored-parts.ts';
import type { AccountRunner } from './account-runner.ts';
import { createMonitor, type Monitor, type MonitorOptions } from './monitor.ts';
import type { RunQueue } from './run-queue.ts';
import type { Scheduler } from './scheduler.ts';

export type WarehouseMonitor = Monitor<AccountsRead, Volumes | null>;

interface WorkerStatusParts {
  readonly app: App;
  readonly startedMs: number;
  readonly state: () => WorkerState;
  readonly monitor: WarehouseMonitor;
  readonly queue: RunQueue;
  readonly scheduler: Scheduler;
  readonly runners: ReadonlyMap<string, AccountRunner>;
  readonly notifier: Pick<Notifier, 'status'>;
}

interface WorkerStatus {
  /** Status of all accounts. */
  readonly status: () => Status;
  /** Status of one account with its details; undefined: no such account. */
  readonly statusOfOne: (accountId: string) => Promise<Status | undefined>;
}

/** Building a Status takes at most 1/20 of the time, because its cost grows with the number of accounts. */
const MAKING_SHARE = 20;

/** Timeout for reading one of several accounts, which happens on request only; afterwards the known values are shown. */
const ONE_ACCOUNT_TIMEOUT_MS = 3 * SECOND_MS;

/** When a stream is requested again after its credentials were refused; 0: they are not refused. */
function heldUntilMs({ health }: Account, stream: StreamName): number {
  const holding = health.openCircuits.filter((circuit) => circuit.holdsAll || circuit.stream === stream);
  return Math.max(0, ...holding.map(({ nextTryMs }) => nextTryMs));
}

async function readInFull({ config, warehouse, clock }: App, accountId: string): Promise<AccountsRead> {
  const { connection } = warehouse;
  const read = await readAccounts(connection, [accountId], { clock, isInFull: true });
  if (read.pendingMigrations > 0) return read;
  const progress = await readCleaningProgress(connection.db, [accountId], config.privacy);
  const zones = await readReportingTimezones(connection.db, [accountId]);
  return {
    ...read,
    cleanings: progress.get(accountId),
    reportingTimezone: zones.get(accountId),
  };
}

/** Reads an account in full, with its equipment types. */
async function readWithParts(
  app: App,
  accountId: string,
): Promise<{ readonly seen: AccountsRead; readonly counted: Volumes | null }> {
  const seen = await readInFull(app, accountId);
  if (seen.pendingMigrations > 0) return { seen, counted: null };
  const parts = await readStoredParts(app.warehouse.connection.db, [accountId]);
  return { seen, counted: { rows: [], days: [], parts: parts.get(accountId) ?? [] } };
}

/** Reads a single account in full, or one row for each of several. `onConnected`: see `MonitorOptions`. */
export function createWarehouseMonitor(
  app: App,
  { everyMs, onConnected }: Pick<MonitorOptions<AccountsRead, null>, 'everyMs' | 'onConnected'>,
): WarehouseMonitor {
  const { log, clock, accounts, warehouse } = app;
  const { connection } = warehouse;
  const ids = accounts.map(({ id }) => id);
  const [only] = ids.length === 1 ? ids : [];
  return createMonitor<AccountsRead, Volumes | null>({
    clock,
    outage: app.databaseOutage,
    everyMs,
    ping: () => connection.query('select 1'),
    connect: () => warehouse.tryConnecting(),
    onConnected,
    read: () => (only === undefined ? readAccounts(connection, ids, { clock }) : readInFull(app, only)),
    count: async () => (only === undefined ? null : await readVolumes(connection.db, only)),
    onDefect: (error) => log.error({ error_code: error.code }, `the status cannot be read: ${error.message}`),
    onSlow: (ms) =>
      log.warn(
        `the database is slow: the status has not been read within ${formatDuration(ms)}; the last read is shown with its age`,
      ),
  });
}

/** Scheduled streams of an account that have never succeeded, by the last read. */
export function neverSynced({ id, scheduled }: Account, { seen }: WarehouseState): StreamName[] {
  const states = seen?.accounts.get(id);
  return scheduled.filter(
    (stream) => states?.find((state) => state.stream === stream)?.lastSuccessMs == null,
  );
}

export function createWorkerStatus(parts: WorkerStatusParts): WorkerStatus {
  const { app, monitor, queue, scheduler, runners } = parts;
  const { clock } = app;
  const [only] = runners.size === 1 ? runners.values() : [];

  function build(
    warehouse: WarehouseState,
    { accounts, nextRuns }: Pick<StatusFacts, 'accounts' | 'nextRuns'>,
  ): Status {
    const { load } = queue;
    return buildStatus({
      version: VERSION,
      freshnessBudgetMinutes: app.config.freshnessBudgetMinutes,
      owner: app.owner,
      nowMs: clock.now(),
      startedMs: parts.startedMs,
      worker: parts.state(),
      isSchedulerAlive: scheduler.isAlive(),
      queue: { ...load, longestWaitMs: Math.round(load.longestWaitMs) },
      alerts: parts.notifier.status,
      keeping: storageRulesOf(app.config),
      warehouse,
      databaseOutage: app.databaseOutage.current,
      accounts,
      nextRuns,
    });
  }

  /** Adds the details that only the page of one account shows. */
  function buildInFull({ account, progress, pressure }: AccountRunner, warehouse: WarehouseState): Status {
    const { concurrency } = app.config.api;
    const idle = { inFlight: 0, waiting: 0, concurrencyNow: concurrency, coolingUntilMs: null };
    const nextRuns = scheduler.nextRuns(account.id).map(({ inMs, ...next }) => ({
      ...next,
      atMs: Math.max(clock.now() + inMs, heldUntilMs(account, next.stream)),
    }));
    return build(warehouse, {
      accounts: [{ account, progress, pressure: pressure ?? idle }],
      nextRuns: nextRuns.toSorted((one, other) => one.atMs - other.atMs),
    });
  }

  let made: { readonly status: Status; readonly untilMs: number } | undefined;
  function status(): Status {
    // For one account the Status is built on each request: that is cheap, and new rows appear at once.
    if (only !== undefined) return buildInFull(only, monitor.latest);
    const beganMs = clock.monotonicMs();
    if (made !== undefined && beganMs < made.untilMs) return made.status;
    const fresh = build(monitor.latest, { accounts: [...runners.values()], nextRuns: null });
    const endedMs = clock.monotonicMs();
    made = { status: fresh, untilMs: endedMs + (endedMs - beganMs) * MAKING_SHARE };
    return fresh;
  }

  async function readOne(accountId: string): Promise<WarehouseState> {
    const nothing = { seen: null, counted: null, countedAtMs: null, problem: null, isSlow: false };
    try {
      const read = await withTimeout(readWithParts(app, accountId), ONE_ACCOUNT_TIMEOUT_MS);
      // The monitor knows whether the database is reachable.
      const { problem } = monitor.latest;
      if (read.inTime) return { ...nothing, ...read.value, problem };
      return { ...nothing, problem, isSlow: problem === null };
    } catch (error) {
      return { ...nothing, problem: toDatabaseError(error).message };
    }
  }

  /** Concurrent requests for one account share one read. */
  const reading = new Map<string, Promise<WarehouseState>>();
  async function statusOfOne(accountId: string): Promise<Status | undefined> {
    const runner = runners.get(accountId);
    if (runner === undefined) return undefined;
    const read = reading.get(accountId) ?? readOne(accountId).finally(() => reading.delete(accountId));
    reading.set(accountId, read);
    return buildInFull(runner, await read);
  }

  return { status, statusOfOne };
}
