/** The long-lived worker: connects scheduler, runs, status and HTTP server, from start to stop. */
import { configuredChannels } from '../alerts/configured-channels.ts';
import { createHeartbeat } from '../alerts/heartbeat.ts';
import { createNotifier } from '../alerts/notifier.ts';
import type { Account, App } from '../../app.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { closeAllDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { settleProtection } from '../../engine/sync/forget.ts';
import { dependencyOf } from '../health/outage-log.ts';
import { backoff } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { SECOND_MS, sleep, untilAborted, withTimeout } from '../../shared/time.ts';
import type { Status } from '../status/build-status.ts';
import { createMetrics } from '../status/metrics.ts';
import { VERSION } from '../../version.ts';
import { type AccountRunner, createAccountRunner } from './account-runner.ts';
import { startHttpServer } from './http-server.ts';
import { buildRoutes, PROBES } from './routes.ts';
import { createReportPages } from './report-pages.ts';
import { createRunQueue } from './run-queue.ts';
import { buildRunEvents } from './run-log.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createScheduledReport } from './scheduled-report.ts';
import { createWarehouseMonitor, createWorkerStatus, neverSynced } from './worker-status.ts';

export interface WorkerOptions {
  /** Interval between reads of the warehouse, and between checks for alerts, reports and the heartbeat. */
  readonly everyMs?: number;
  readonly onListening?: (url: string) => void;
  readonly liftPrivacy?: boolean;
}

/** At once in this process, over all accounts, because each has a database session. */
const MOST_RUNS = 20;
/** Ticks of several accounts are spread over this time, so that they do not begin all at once. */
const SPREAD_MS = 30 * SECOND_MS;

/** Runs until the app's signal is aborted, then ends the runs and returns. */
export async function runWorker(
  app: App,
  { everyMs = 10 * SECOND_MS, onListening, liftPrivacy = false }: WorkerOptions = {},
): Promise<void> {
  const { config, log, clock, signal, accounts } = app;
  const channels = configuredChannels(config.notifications);
  const metrics = createMetrics({
    accountIds: accounts.map(({ id }) => id),
    channels: channels.map(({ name }) => name),
  });
  const queue = createRunQueue({ slots: MOST_RUNS, clock });
  let state: 'starting' | 'running' = 'starting';

  /**
   * Aborted when a newer program has migrated the warehouse, or the migration of its views failed: the worker then stops,
   * because it would look healthy without being so.
   */
  const failed = new AbortController();

  const monitor = createWarehouseMonitor(app, {
    everyMs,
    // Runs the failed streams again at once, because their schedules may be a day away.
    onConnected: () => {
      for (const { accountId, stream } of app.databaseOutage.failing) scheduler.trigger(accountId, stream);
    },
  });
  const runners = new Map(
    accounts.map((account): [string, AccountRunner] => [
      account.id,
      createAccountRunner({ account, clock, metrics, monitor, onNewer: (error) => failed.abort(error) }),
    ]),
  );
  // A single account has no other accounts to take slots from.
  if (accounts.length > 1) {
    for (const { id, health } of accounts) health.onChange((isHealthy) => queue.setHealth(id, isHealthy));
  }
  const scheduler = createScheduler({
    accounts,
    spreadMs: accounts.length > 1 ? SPREAD_MS : 0,
    queue,
    clock,
    onSkippedTick: (target, why) => runners.get(target.accountId)?.recordSkippedTick(target, why),
    run: async (job) => (await runners.get(job.accountId)?.run(job)) ?? [],
  });
  const { report, heartbeatUrl: url } = config.notifications;
  const notifier = createNotifier({
    ...app,
    monitor,
    channels,
    report: report && createScheduledReport(app, report),
    onOutcome: metrics.recordAlert,
  });
  const { status, statusOfOne } = createWorkerStatus({
    app,
    startedMs: clock.now(),
    state: () => (signal.aborted ? 'stopping' : state),
    monitor,
    queue,
    scheduler,
    runners,
    notifier,
  });

  const heartbeat =
    url === undefined ? undefined : createHeartbeat({ url, log, clock, isFresh: () => isFresh(status()) });

  // HTTP starts first, so that the status is available while the worker waits for its database.
  const server = await startHttpServer({
    ...config.http,
    openPaths: PROBES,
    routes: {
      ...buildRoutes({ status, statusOfOne, redact: app.redact, metrics }),
      ...(config.http.hasReport ? createReportPages(app) : {}),
    },
    onError: (path, error) => log.error({ path, err: error }, `the request for ${path} failed`),
  });
  log.info(
    { version: VERSION, http: server.url, owner: app.owner },
    `safety-sync ${VERSION} started; status page ${server.url}/, health at ${server.url}/healthz`,
  );
  onListening?.(server.url);
  void monitor.refresh();
  notifier.start(everyMs);
  heartbeat?.start(everyMs);
  try {
    if (await prepareWarehouse(app, { liftPrivacy, onFailure: (error) => failed.abort(error) })) {
      scheduler.start();
      state = 'running';
      await monitor.refresh();
      // Streams without data are synced at once, not at their first tick.
      for (const account of accounts) {
        for (const stream of neverSynced(account, monitor.latest)) scheduler.trigger(account.id, stream);
      }
      logWhatIsOff(app);
      await untilAborted(AbortSignal.any([signal, failed.signal]));
      failed.signal.throwIfAborted();
    }
    const { message: reason } = signal.reason as Error;
    log.info({ reason }, `stopping by ${reason}: runs under way are ended, nothing is half stored`);
  } finally {
    heartbeat?.stop();
    await Promise.all([stopRuns(app, scheduler), notifier.stop()]);
    monitor.stop();
    await server.close();
    metrics.close();
    log.info('stopped');
  }
}

const DELAYS = { firstMs: SECOND_MS, mostMs: 30 * SECOND_MS };

/**
 * Migrates as soon as the database is reachable, and waits for it, and for readers in the way, without a limit. Resolves when
 * the tables are migrated: views follow while the worker runs. False: a stop was requested first. Rejects with errors that
 * waiting does not cure: missing rights, an old server, another source, less protection than is recorded; `onFailure` receives them if the tables are migrated already.
 */
async function prepareWarehouse(
  app: App,
  { liftPrivacy, onFailure }: { readonly liftPrivacy: boolean; readonly onFailure: (error: unknown) => void },
): Promise<boolean> {
  const { signal } = app;
  const prepared = new Promise<true>((resolve, reject) => {
    const onTables = async (): Promise<void> => {
      app.databaseOutage.recordResponse();
      await closeDeadRunsOfAccounts(app);
      const contexts = app.accounts.map((account) => account.runContext(buildRunEvents(account)));
      await settleProtection(contexts, liftPrivacy);
      // Of several accounts only this one is refused: its runs fail.
      if (app.accounts.length === 1) await app.accounts[0]?.source.assertSame();
      resolve(true);
    };
    migrateUntilDone(app, onTables).then(
      () => resolve(true),
      (error: unknown) => {
        reject(error instanceof Error ? error : new Error(String(error)));
        if (!signal.aborted) onFailure(error);
      },
    );
  });
  return await Promise.race([prepared, untilAborted(signal).then(() => false)]);
}

async function migrateUntilDone(app: App, onTables: () => Promise<void>): Promise<void> {
  const { signal, databaseOutage, log } = app;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const { applied } = await app.migrate({ patienceMs: Infinity, onTables });
      if (applied > 0) log.info({ applied }, 'the warehouse was migrated');
      return;
    } catch (error) {
      if (!(error instanceof SafetySyncError) || dependencyOf(error) !== 'database') throw error;
      databaseOutage.recordFailure(error);
      const delayMs = backoff(failures, DELAYS);
      log.debug({ error_code: error.code, delay_ms: delayMs }, `${error.message}; trying again`);
      await sleep(delayMs, signal);
    }
  }
}

/** Closes runs of dead workers, which would otherwise look active until the next run of their stream. */
async function closeDeadRunsOfAccounts({ accounts, warehouse }: App): Promise<void> {
  const byId = new Map(accounts.map((account): [string, Account] => [account.id, account]));
  try {
    for (const one of await closeAllDeadRuns(warehouse.connection.db, [...byId.keys()])) {
      const account = byId.get(one.accountId);
      if (account !== undefined) buildRunEvents(account).onDeadRuns?.(one.stream, one.closed);
    }
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/** Logs a count for several accounts, because each has its own reasons. */
function logWhatIsOff({ log, accounts }: App): void {
  const off = accounts.flatMap(({ offReasons }) =>
    Object.entries(offReasons).filter(([, reason]) => reason === 'not scheduled'),
  );
  if (off.length === 0) return;
  const isOne = accounts.length === 1;
  const what = isOne
    ? off.map(([stream, reason]) => `${stream} (${reason})`).join(', ')
    : `${off.length} streams of ${accounts.length} accounts`;
  log.info({ off: isOne ? off.map(([stream]) => stream) : off.length }, `off: ${what}`);
}

/** The signal cancels requests and statements. With the other steps of a stop, the total stays below ten seconds. */
const GIVE_UP_MS = 6 * SECOND_MS;

/** Waits for the running jobs, so that a stop takes seconds and leaves no run open. */
async function stopRuns({ log }: App, scheduler: Scheduler): Promise<void> {
  await scheduler.stop();
  const { inTime: hasEnded } = await withTimeout(scheduler.idle(), GIVE_UP_MS);
  if (!hasEnded) {
    const streams = scheduler.open.map(({ stream }) => stream);
    log.error(
      { streams },
      `${streams.join(', ')}: not ended in time; the next run closes the record, nothing is half stored`,
    );
  }
}

/** Whether a stream is scheduled, and all scheduled ones are fresh. */
const isFresh = ({ isReady, accounts }: Status): boolean =>
  isReady &&
  accounts.every((account) => account.isReady) &&
  accounts.some(({ streams }) => streams.some(({ isScheduled }) => isScheduled));
