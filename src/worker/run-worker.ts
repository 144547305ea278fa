/** The long-lived worker: puts scheduler, runs, status and HTTP together, from start to stop. */
import type { App } from '../app.ts';
import { startHttpServer } from './http-server.ts';
import { createMetrics } from '../status/metrics.ts';
import type { TrialDelays } from '../health/circuit-breaker.ts';
import { type Scheduler, startScheduler } from './scheduler.ts';
import { formatDuration } from '../shared/format.ts';
import { SECOND_MS, untilAborted } from '../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../streams/index.ts';
import { VERSION } from '../version.ts';
import { type AccountRunner, createAccountRunner } from './account-runner.ts';
import { prepareWarehouse } from './prepare-warehouse.ts';
import { stopRuns } from './stop-runs.ts';
import { type Watch, watchMany, watchOne } from './watch.ts';

export interface WorkerOptions {
  /** How long to leave a service alone that refuses the credentials. */
  readonly trialDelays?: TrialDelays;
  /** How often the warehouse is looked at; default: ten seconds. */
  readonly lookEveryMs?: number;
  readonly onListening?: (url: string) => void;
}

/** Runs until the app's signal, then ends what is running and returns. */
export async function runWorker(app: App, options: WorkerOptions = {}): Promise<void> {
  const { config, log, clock, signal, outages, warehouse } = app;
  const isMany = app.accounts.length > 1;
  const metrics = createMetrics({ version: VERSION, accountIds: app.accounts.map(({ id }) => id) });
  const sessions = new Set<number>();
  let state: 'starting' | 'running' = 'starting';
  let scheduler: Scheduler | undefined;
  const runners = new Map(
    app.accounts.map((account): [string, AccountRunner] => [
      account.id,
      createAccountRunner({
        account,
        clock,
        metrics,
        trialDelays: options.trialDelays,
        sessions,
        scheduler: () => scheduler,
        isOneOfMany: isMany,
        onChange: () => watch.monitor.lookSoon(),
        onStored: () => watch.monitor.noteAnswer(),
      }),
    ]),
  );
  const watch: Watch = (isMany ? watchMany : watchOne)({
    facts: {
      app,
      startedMs: clock.now(),
      state: () => (signal.aborted ? 'stopping' : state),
      scheduler: () => scheduler,
    },
    runners: [...runners.values()],
    metrics,
    monitoring: {
      clock,
      outages,
      everyMs: options.lookEveryMs,
      onDefect: (error) =>
        log.error({ error_code: error.code }, `the status cannot be read: ${error.message}`),
      onSlow: (ms) =>
        log.warn(
          `the database is slow: the status has not been read within ${formatDuration(ms)}; it is told as of when it was`,
        ),
    },
  });

  const server = await startHttpServer({
    ...config.http,
    routes: watch.routes,
    onError: (path, error) => log.error({ path, err: error }, `${path} could not be answered`),
  });
  log.info(
    { version: VERSION, http: server.url, owner: app.owner },
    `safety-sync ${VERSION} started; status page ${server.url}/, health at ${server.url}/healthz`,
  );
  options.onListening?.(server.url);
  void watch.monitor.look();
  try {
    if (await prepareWarehouse(app)) {
      scheduler = startScheduler({
        accounts: [...runners.values()].map(({ account: { id, config: of }, offReasons }) => ({
          accountId: id,
          ...of.schedule,
          // A stream whose own schedule is off is still reconciled; one that has nothing to ask for is not.
          off: STREAM_NAMES.filter((stream) => offReasons[stream] === 'no equipment types'),
        })),
        spreadMs: isMany ? config.syncSpreadSeconds * SECOND_MS : 0,
        slots: config.syncConcurrency,
        clock,
        runsLast: (stream) => streamNamed(stream).reading.kind === 'lookup',
        onOverrun: ({ accountId, stream, kind }, jobState) => {
          metrics.recordSkippedTick(accountId, stream, jobState);
          const name = kind === 'sync' ? stream : `${stream} ${kind}`;
          const why = jobState === 'running' ? 'still running' : 'still waiting for its turn';
          logOf(accountId).warn({ stream, kind }, `${name}: ${why}, this tick of the schedule is skipped`);
        },
        onMissed: ({ accountId, stream, kind }) => {
          metrics.recordSkippedTick(accountId, stream, 'missed');
          logOf(accountId).warn(
            { stream, kind },
            `${stream}: a tick of the schedule was missed and is made up for now`,
          );
        },
        run: async (job) => await runners.get(job.accountId)?.run(job),
      });
      state = 'running';
      await watch.monitor.look();
      fireNeverSynced(scheduler, runners.values(), watch);
      tellWhatIsOff(app, runners.values());
      await untilAborted(signal);
    }
    const { message: reason } = signal.reason as Error;
    log.info({ reason }, `stopping by ${reason}: runs under way are ended, nothing is half stored`);
  } finally {
    if (scheduler !== undefined) {
      await stopRuns({ scheduler, sessions, connection: warehouse.connection, log });
    }
    watch.monitor.stop();
    await server.close();
    metrics.close();
    log.info('stopped');
  }

  function logOf(accountId: string) {
    return runners.get(accountId)?.account.log ?? log;
  }
}

/** Nobody wants to wait a quarter of an hour for the first rows. */
function fireNeverSynced(scheduler: Scheduler, runners: Iterable<AccountRunner>, watch: Watch): void {
  for (const { account, scheduled } of runners) {
    const never = watch.neverSynced(account.id);
    for (const stream of scheduled) if (never.has(stream)) scheduler.fire(account.id, stream);
  }
}

/** Of many accounts in one line: each has its own reasons. */
function tellWhatIsOff({ log, accounts }: App, runners: Iterable<AccountRunner>): void {
  const off = [...runners].flatMap(({ offReasons }) => Object.entries(offReasons));
  if (off.length === 0) return;
  const isOne = accounts.length === 1;
  const what = isOne
    ? off.map(([stream, reason]) => `${stream} (${reason})`).join(', ')
    : `${off.length} streams of ${accounts.length} accounts`;
  log.info({ off: isOne ? off.map(([stream]) => stream) : off.length }, `off: ${what}`);
}
