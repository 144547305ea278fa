/** Builds the status of a worker: the last read of the warehouse, and the state that only the process has. */
import type { Notifier } from '../alerts/notifier.ts';
import type { Account, App } from '../../app.ts';
import { readAccountRows } from '../status/read-account-rows.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { readVolumes } from '../status/read-volumes.ts';
import {
  NO_WAREHOUSE_STATE,
  type StatusFacts,
  type WarehouseFacts,
  type WorkerState,
} from '../status/facts.ts';
import { buildStatus, type Status } from '../status/status.ts';
import { storageRulesOf } from '../status/storage-rules.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { AccountRunner } from './account-runner.ts';
import { createMonitor, type Monitor, type MonitorOptions } from './monitor.ts';
import type { Scheduler } from './scheduler.ts';

interface WorkerStatusSources {
  readonly app: App;
  readonly startedMs: number;
  readonly state: () => WorkerState;
  readonly monitor: Monitor;
  readonly scheduler: Scheduler;
  readonly runners: ReadonlyMap<string, AccountRunner>;
  readonly notifier: Pick<Notifier, 'status'>;
}

/** Timeout for reading one of several accounts, which happens on request only; afterwards the known values are shown. */
const ONE_ACCOUNT_TIMEOUT_MS = 3 * SECOND_MS;

async function readInFull({ connection, config, clock }: App, accountId: string) {
  const accountsRead = await readAccounts(connection, [accountId], { clock });
  const isMigrated = accountsRead.pendingMigrations === 0;
  const rows = isMigrated ? await readAccountRows(connection.db, accountId, config.privacy) : null;
  return { accountsRead, rows };
}

/** Reads a single account in full, or the streams of several. `onConnected`: see `MonitorOptions`. */
export function createWarehouseMonitor(
  app: App,
  options: Pick<MonitorOptions, 'everyMs' | 'onConnected' | 'outage'>,
): Monitor {
  const { log, clock, accountIds, warehouse } = app;
  const { connection } = warehouse;
  const [only] = accountIds.length === 1 ? accountIds : [];
  return createMonitor({
    ...options,
    clock,
    log,
    connect: () => warehouse.tryConnecting(),
    read: async () =>
      only === undefined
        ? { accountsRead: await readAccounts(connection, accountIds, { clock }), rows: null }
        : await readInFull(app, only),
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
  const { app, monitor, scheduler, runners } = sources;
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
      migrationWaits: app.migrationWaits,
      queue: scheduler.load,
      alerts: sources.notifier.status,
      keeping: storageRulesOf(app.config),
      warehouse,
      accounts,
      nextRuns,
    });
  }

  /** Adds the details that only the page of one account shows. */
  function buildInFull(runner: AccountRunner, warehouse: WarehouseFacts): Status {
    const { account, health, progress, pressure, retries } = runner;
    /** When a stream that is refused is requested again. */
    const heldUntilMs = (stream: StreamName): number =>
      Math.max(
        0,
        ...health.refusals
          .filter((refusal) => refusal.holdsAll || refusal.stream === stream)
          .map(({ nextTryMs }) => nextTryMs),
      );
    const nextRuns = scheduler.nextRuns(account.id).map(({ target: { stream, kind }, inMs }) => ({
      stream,
      kind,
      atMs: Math.max(clock.now() + inMs, heldUntilMs(stream)),
    }));
    return build(warehouse, {
      accounts: [{ account, health, progress, pressure: pressure ?? { inFlight: 0, waiting: 0 }, retries }],
      nextRuns: nextRuns.toSorted((one, other) => one.atMs - other.atMs),
    });
  }

  async function readOne(accountId: string): Promise<WarehouseFacts> {
    const partitions = readStoredPartitions(app.db, [accountId]);
    const read = await readInFull(app, accountId);
    const volumes = { rows: [], partitions: (await partitions).get(accountId) ?? [] };
    return { ...NO_WAREHOUSE_STATE, ...read, volumes };
  }

  return {
    /** Status of all accounts. */
    status: (): Status =>
      only === undefined
        ? build(monitor.latest, { accounts: [...runners.values()], nextRuns: null })
        : buildInFull(only, monitor.latest),
    /** Status of one account with its details; undefined: no such account. */
    statusOfOne: async (accountId: string): Promise<Status | undefined> => {
      const runner = runners.get(accountId);
      if (runner === undefined) return undefined;
      const read = readOne(accountId).catch(() => monitor.latest);
      const result = await withTimeout(read, ONE_ACCOUNT_TIMEOUT_MS);
      return buildInFull(runner, result.inTime ? result.value : monitor.latest);
    },
  };
}
