/** The long-lived worker: connects scheduler, runs, status and HTTP server, from start to stop. */
import { createHeartbeat } from './heartbeat.ts';
import { configuredChannels, createNotifier } from './notifier.ts';
import type { App } from '../../app.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { settleProtection } from '../../engine/sync/forget.ts';
import { isOutage } from '../status/facts.ts';
import { backoff } from '../../shared/backoff.ts';
import { oneAtATime } from '../../shared/one-at-a-time.ts';
import { SECOND_MS, sleep, untilAborted, withTimeout } from '../../shared/time.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { createMetrics } from '../status/metrics.ts';
import type { Status } from '../status/status.ts';
import { VERSION } from '../../version.ts';
import { createAccountRunner } from './account-runner.ts';
import { startHttpServer } from './http-server.ts';
import { createMonitor, type Monitor } from './monitor.ts';
import { buildRoutes, PROBES } from './routes.ts';
import { createReportPages } from './report-pages.ts';
import { buildRunEvents } from './run-log.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createScheduledReport } from './scheduled-report.ts';
import { createWorkerStatus } from './worker-status.ts';

export interface WorkerOptions {
  /** Interval between reads of the warehouse, and between checks for alerts, reports and the heartbeat. */
  readonly everyMs?: number;
  readonly onListening?: (url: string) => void;
  readonly liftPrivacy?: boolean;
}

/** At once in this process, over all accounts, because each has a database session. */
const MOST_RUNS = 20;

/** Runs until the app's signal is aborted, then ends the runs and returns. */
export async function runWorker(
  app: App,
  { everyMs = 10 * SECOND_MS, onListening, liftPrivacy = false }: WorkerOptions = {},
): Promise<void> {
  const { config, log, clock, signal, accounts, accountIds, connection, warehouse } = app;
  const metrics = createMetrics(accountIds);
  let isRunning = false;
  /** Ends a worker that would look healthy without being so, for example after a newer program has migrated the warehouse. */
  const failed = new AbortController();
  const monitor = createMonitor({
    ...{ everyMs, clock, log },
    read: () => readAccounts(connection, accountIds, { clock }),
    connect: () => warehouse.tryConnecting(),
    // At once, because their schedules may be a day away.
    onConnected: () => runners.forEach(({ cutOff }) => cutOff.forEach((target) => scheduler.trigger(target))),
  });
  const onNewer = (error: Error): void => failed.abort(error);
  const runners = accounts.map((account) =>
    createAccountRunner({ account, clock, metrics, monitor, onNewer }),
  );
  const runnerOf = (accountId: string) => runners.find(({ account }) => account.id === accountId);
  const scheduler = createScheduler({
    accounts,
    slots: MOST_RUNS,
    onSkippedTick: ({ accountId, stream, kind }) => {
      metrics.recordSkippedTick(accountId, stream, 'running');
      runnerOf(accountId)?.account.log.warn(
        { stream, kind },
        `${stream} ${kind}: not ended yet, this tick of the schedule is skipped`,
      );
    },
    run: async (job) => (await runnerOf(job.accountId)?.run(job)) ?? [],
  });
  const { report, heartbeatUrl: url } = config.notifications;
  const channels = configuredChannels(config.notifications);
  const notifier = createNotifier({
    app,
    channels,
    onAway: monitor.recordFailure,
    status: () => workerStatus.status(),
  });
  const state = () => (signal.aborted ? 'stopping' : isRunning ? 'running' : 'starting');
  const workerStatus = createWorkerStatus({ app, state, monitor, scheduler, runners, notifier });
  const { status } = workerStatus;
  const looks = [
    ...(channels.length > 0 || report !== undefined ? [notifier.look] : []),
    ...(report === undefined ? [] : [createScheduledReport(app, report, () => status().nowMs)]),
    ...(url === undefined ? [] : [createHeartbeat(app, url, () => isFresh(status()))]),
  ];
  const stopLooking = startLooking(looks, everyMs);

  async function startSchedules(): Promise<void> {
    scheduler.start();
    isRunning = true;
    await monitor.refresh();
    // Streams without data are synced at once, not at their first tick.
    for (const { accountId, streams } of status().accounts)
      for (const { stream, lastSuccessMs, offReason } of streams)
        if (lastSuccessMs === null && offReason !== 'not scheduled')
          scheduler.trigger({ accountId, stream, kind: 'sync' });
  }

  // HTTP starts first, so that the status is available while the worker waits for its database.
  const server = await startHttpServer({
    ...config.http,
    openPaths: PROBES,
    routes: {
      ...buildRoutes(app, workerStatus, metrics),
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
  const mayBegin = (): boolean => !isRunning && !signal.aborted;
  const steps = {
    async mayStore(): Promise<void> {
      monitor.recordResponse();
      if (mayBegin()) await prepareAccounts(app, liftPrivacy);
    },
    async onTables(): Promise<void> {
      if (mayBegin()) await startSchedules();
    },
  };
  // Rejects with what waiting does not cure: missing rights, an old server, another source, less protection than is recorded.
  void migrateWhenPossible(app, monitor, steps).catch((error: unknown) => failed.abort(error));
  try {
    await untilAborted(AbortSignal.any([signal, failed.signal]));
    if (!signal.aborted) throw failed.signal.reason;
    const { message: reason } = signal.reason as Error;
    log.info({ reason }, `stopping by ${reason}: runs under way are ended, nothing is half stored`);
  } finally {
    await Promise.all([stopRuns(app, scheduler), stopLooking()]);
    await monitor.stop();
    await server.close();
    metrics.close();
    log.info('stopped');
  }
}

/** The signal is aborted at a stop. Never rejects. */
type Look = (stopping: AbortSignal) => Promise<void>;

const LAST_LOOK_MS = 5 * SECOND_MS;

/** Alerts, reports and the heartbeat, each by itself, because a report takes longer. */
function startLooking(looks: readonly Look[], everyMs: number) {
  const stopping = new AbortController();
  const works = looks.map((look) => oneAtATime(() => look(stopping.signal)));
  const timers = works.map((work) => {
    void work();
    return setInterval(() => void work(), everyMs);
  });
  /** Waits a few seconds for the message that is being sent. */
  return async (): Promise<void> => {
    timers.forEach((timer) => clearInterval(timer));
    const last = Promise.all(works.map((work) => work.idle()));
    await withTimeout(last, LAST_LOOK_MS);
    stopping.abort();
    await withTimeout(last, SECOND_MS);
  };
}

const DELAYS = { firstMs: SECOND_MS, mostMs: 30 * SECOND_MS };

/**
 * Migrates as soon as the database is reachable, and waits for it, and for readers in the way, without a limit. The schedules
 * start when the tables are migrated; views follow while the worker runs.
 */
async function migrateWhenPossible(
  app: App,
  monitor: Monitor,
  steps: Parameters<App['migrate']>[0],
): Promise<void> {
  const { signal, log } = app;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const { applied } = await app.migrate({ patienceMs: Infinity, ...steps });
      if (applied > 0) log.info({ applied }, 'the warehouse was migrated');
      return;
    } catch (caught) {
      // A stop ends the connections.
      if (app.signal.aborted) return;
      const error = toDatabaseError(caught);
      if (!isOutage(error)) throw error;
      monitor.recordFailure(error);
      const delayMs = backoff(failures, DELAYS);
      log.debug({ error_code: error.code, delay_ms: delayMs }, `${error.message}; trying again`);
      await sleep(delayMs, signal);
    }
  }
}

/** Before the first run: what other settings have left. */
async function prepareAccounts({ accounts }: App, liftPrivacy: boolean): Promise<void> {
  const contexts = accounts.map((account) => account.runContext(buildRunEvents(account)));
  await settleProtection(contexts, liftPrivacy);
  // Among several accounts only this one is refused: its runs fail.
  if (accounts.length === 1) await accounts[0]?.source.assertSame();
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
