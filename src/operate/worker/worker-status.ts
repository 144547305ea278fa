/** Builds the status of a worker: the last read of the warehouse, and the state that only the process has. */
import type { Notifier } from '../alerts/notifier.ts';
import type { Account, App } from '../../app.ts';
import { buildStatus, type Status } from '../status/build-status.ts';
import { readInFull } from '../status/read-account-rows.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { readVolumes } from '../status/read-volumes.ts';
import {
  type WorkerState,
  NO_WAREHOUSE_STATE,
  type StatusFacts,
  type WarehouseFacts,
} from '../status/status.ts';
import { storageRulesOf } from '../status/storage-rules.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import type { AccountRunner } from './account-runner.ts';
import { createMonitor, type Monitor, type MonitorOptions } from './monitor.ts';
import type { OutageLog } from '../health/outage-log.ts';
import type { Scheduler } from './scheduler.ts';

interface WorkerStatusSources {
  readonly app: App;
  readonly startedMs: number;
  readonly state: () => WorkerState;
  readonly monitor: Monitor;
  readonly databaseOutage: OutageLog;
  readonly scheduler: Scheduler;
  readonly runners: ReadonlyMap<string, AccountRunner>;
  readonly notifier: Pick<Notifier, 'status'>;
}

/** Building a Status takes at most 1/20 of the time, because its cost grows with the number of accounts. */
const MAKING_SHARE = 20;

/** Timeout for reading one of several accounts, which happens on request only; afterwards the known values are shown. */
const ONE_ACCOUNT_TIMEOUT_MS = 3 * SECOND_MS;

/** When a stream is requested again after its credentials were refused; 0: they are not refused. */
function heldUntilMs({ health }: AccountRunner, stream: StreamName): number {
  const holding = health.refusals.filter((refusal) => refusal.holdsAll || refusal.stream === stream);
  return Math.max(0, ...holding.map(({ nextTryMs }) => nextTryMs));
}

/** Reads a single account in full, or one row for each of several. `onConnected`: see `MonitorOptions`. */
export function createWarehouseMonitor(
  app: App,
  options: Pick<MonitorOptions, 'everyMs' | 'onConnected' | 'outage'>,
): Monitor {
  const { log, clock, accounts, warehouse, config } = app;
  const { connection } = warehouse;
  const { privacy } = config;
  const ids = accounts.map(({ id }) => id);
  const [only] = ids.length === 1 ? ids : [];
  return createMonitor({
    ...options,
    clock,
    log,
    ping: () => connection.query('select 1'),
    connect: () => warehouse.tryConnecting(),
    read: () =>
      only === undefined
        ? readAccounts(connection, ids, { clock })
        : readInFull(connection, only, { privacy, clock }),
    count: async () => (only === undefined ? null : await readVolumes(connection.db, only)),
  });
}

/** Scheduled streams of an account that have never succeeded, by the last read. */
export function neverSynced({ id, scheduled }: Account, { accountsRead }: WarehouseFacts): StreamName[] {
  const states = accountsRead?.accounts.get(id);
  return scheduled.filter(
    (stream) => states?.find((state) => state.stream === stream)?.lastSuccessMs == null,
  );
}

export function createWorkerStatus(sources: WorkerStatusSources) {
  const { app, monitor, databaseOutage, scheduler, runners } = sources;
  const { clock } = app;
  const [only] = runners.size === 1 ? runners.values() : [];

  function build(
    warehouse: WarehouseFacts,
    { accounts, nextRuns }: Pick<StatusFacts, 'accounts' | 'nextRuns'>,
  ): Status {
    return buildStatus({
      freshnessBudgetMinutes: app.config.freshnessBudgetMinutes,
      owner: app.owner,
      nowMs: clock.now(),
      startedMs: sources.startedMs,
      worker: sources.state(),
      queue: scheduler.load,
      alerts: sources.notifier.status,
      keeping: storageRulesOf(app.config),
      warehouse,
      databaseOutage: databaseOutage.current,
      accounts,
      nextRuns,
    });
  }

  /** Adds the details that only the page of one account shows. */
  function buildInFull(runner: AccountRunner, warehouse: WarehouseFacts): Status {
    const { account, health, progress, pressure } = runner;
    const idle = { inFlight: 0, waiting: 0 };
    const nextRuns = scheduler.nextRuns(account.id).map(({ target: { stream, kind }, inMs }) => ({
      stream,
      kind,
      atMs: Math.max(clock.now() + inMs, heldUntilMs(runner, stream)),
    }));
    return build(warehouse, {
      accounts: [{ account, health, progress, pressure: pressure ?? idle }],
      nextRuns: nextRuns.toSorted((one, other) => one.atMs - other.atMs),
    });
  }

  let made: { readonly status: Status; readonly untilMs: number } | undefined;
  /** Status of all accounts. */
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

  async function readOne(accountId: string): Promise<Pick<WarehouseFacts, 'accountsRead' | 'counted'>> {
    const { connection } = app.warehouse;
    const accountsRead = await readInFull(connection, accountId, { privacy: app.config.privacy, clock });
    if (accountsRead.pendingMigrations > 0) return { accountsRead, counted: null };
    const partitions = (await readStoredPartitions(connection.db, [accountId])).get(accountId) ?? [];
    return { accountsRead, counted: { rows: [], days: [], partitions } };
  }

  async function lookAtOne(accountId: string): Promise<WarehouseFacts> {
    try {
      const read = await withTimeout(readOne(accountId), ONE_ACCOUNT_TIMEOUT_MS);
      // The monitor detects an unreachable database; without its `problem` the database is only slow.
      const { problem } = monitor.latest;
      const result = read.inTime ? read.value : { isSlow: problem === null };
      return { ...NO_WAREHOUSE_STATE, problem, ...result };
    } catch (error) {
      return { ...NO_WAREHOUSE_STATE, problem: toDatabaseError(error).message };
    }
  }

  /** Concurrent requests for one account share one read. */
  const reading = new Map<string, Promise<WarehouseFacts>>();
  /** Status of one account with its details; undefined: no such account. */
  async function statusOfOne(accountId: string): Promise<Status | undefined> {
    const runner = runners.get(accountId);
    if (runner === undefined) return undefined;
    const read = reading.get(accountId) ?? lookAtOne(accountId).finally(() => reading.delete(accountId));
    reading.set(accountId, read);
    return buildInFull(runner, await read);
  }

  return { status, statusOfOne };
}
