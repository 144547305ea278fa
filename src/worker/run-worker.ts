/** The long-lived worker: puts scheduler, runs, status and HTTP together, from start to stop. */
import type { App } from '../app.ts';
import { buildStatus } from '../ops/build-status.ts';
import { startHttpServer } from '../ops/http-server.ts';
import { createMetrics } from '../ops/metrics.ts';
import { createRefusalGate, type RefusalDelays } from '../ops/refusal-gate.ts';
import { buildRoutes } from '../ops/routes.ts';
import { buildRunEvents } from '../ops/run-report.ts';
import { blotStatus, type Status, type WorkerState } from '../ops/status.ts';
import { type Scheduler, startScheduler } from '../scheduler/scheduler.ts';
import { SECOND_MS } from '../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { HistoryProgress } from '../sync/extract.ts';
import type { RunEvents } from '../sync/run.ts';
import { VERSION } from '../version.ts';
import { describeConfig } from './describe-config.ts';
import { createMonitor } from './monitor.ts';
import { untilAborted } from './pause.ts';
import { prepareWarehouse } from './prepare-warehouse.ts';
import { createJobs } from './run-jobs.ts';
import { stopRuns } from './stop-runs.ts';

export interface WorkerOptions {
  /** How long to leave a service alone that refuses the credentials. */
  readonly refusalDelays?: RefusalDelays;
  /** How often the warehouse is looked at; default: ten seconds. */
  readonly lookEveryMs?: number;
  readonly onListening?: (url: string) => void;
}

/** Runs until the app's signal, then ends what is running and returns. */
export async function runWorker(app: App, options: WorkerOptions = {}): Promise<void> {
  const { config, log, clock, signal, outages, warehouse } = app;
  const { accountId } = config;
  const scheduled = STREAM_NAMES.filter((stream) => config.schedule.streams[stream] !== null);
  const startedMs = clock.now();
  const gate = createRefusalGate(clock, options.refusalDelays);
  const metrics = createMetrics({ version: VERSION, accountId });
  const progress = new Map<StreamName, HistoryProgress>();
  const sessions = new Set<number>();
  const monitor = createMonitor({
    connection: warehouse.connection,
    accountId,
    clock,
    outages,
    everyMs: options.lookEveryMs,
    onDefect: (error) => log.error({ error_code: error.code }, `the status cannot be read: ${error.message}`),
  });
  let state: WorkerState = 'starting';
  let scheduler: Scheduler | undefined;

  const events: RunEvents = {
    ...buildRunEvents(app),
    onProgress: (stream, made) => void progress.set(stream, made),
    onSession: (_stream, pid) => {
      sessions.add(pid);
      monitor.lookSoon();
    },
    onSessionEnd: (stream, pid) => {
      sessions.delete(pid);
      progress.delete(stream);
    },
  };

  const status = (): Status => {
    const { operations, volumes, readAtMs, problem } = monitor.latest;
    const { inFlight, waiting, concurrencyNow, coolingUntilMs } = app.api.pressure;
    const built = buildStatus({
      version: VERSION,
      accountId,
      timezone: config.schedule.timezone,
      freshnessBudgetMinutes: config.freshnessBudgetMinutes,
      scheduled,
      owner: app.owner,
      nowMs: clock.now(),
      startedMs,
      worker: signal.aborted ? 'stopping' : state,
      isSchedulerAlive: scheduler?.isAlive() ?? true,
      operations,
      volumes,
      readAtMs,
      databaseProblem: problem,
      outages: (['database', 'service'] as const).flatMap((name) => outages.current(name) ?? []),
      refusals: gate.refusals,
      service: { inFlight, waiting, concurrencyNow, coolingUntilMs: coolingUntilMs ?? null },
      nextRuns: (scheduler?.nextRuns() ?? []).map(({ inMs, ...next }) => ({
        ...next,
        atMs: roundToSecond(clock.now() + inMs),
      })),
      progress,
    });
    return blotStatus(built, app.blot);
  };

  const server = await startHttpServer({
    ...config.http,
    routes: buildRoutes({ status, metrics }),
    onError: (path, error) => log.error({ path, err: error }, `${path} could not be answered`),
  });
  log.info(
    { ...describeConfig(config, VERSION), http: server.url, owner: app.owner },
    `safety-sync ${VERSION} started; status page ${server.url}/, health at ${server.url}/healthz`,
  );
  options.onListening?.(server.url);
  void monitor.look();
  try {
    if (await prepareWarehouse(app)) {
      scheduler = startScheduler({
        timezone: config.schedule.timezone,
        clock,
        crons: config.schedule.streams,
        reconcileCron: config.schedule.reconcile,
        runsLast: (stream) => streamNamed(stream).reading.kind === 'lookup',
        onOverrun: ({ stream, kind }) => {
          metrics.noteSkippedFiring(stream, 'running');
          const name = kind === 'sync' ? stream : `${stream} ${kind}`;
          log.warn({ stream, kind }, `${name}: still running, this firing of the schedule is skipped`);
        },
        onMissed: (stream, kind) => {
          metrics.noteSkippedFiring(stream, 'missed');
          log.warn({ stream, kind }, `${stream}: a firing of the schedule was missed and is made up for now`);
        },
        run: createJobs({
          app,
          events,
          gate,
          metrics,
          scheduled,
          fire: (stream) => scheduler?.fire(stream),
          fireIn: (stream, ms) => scheduler?.fireIn(stream, ms),
          onEnd: () => monitor.lookSoon(),
        }),
      });
      state = 'running';
      await monitor.look();
      fireNeverSynced(scheduler, scheduled, status());
      const off = STREAM_NAMES.filter((stream) => !scheduled.includes(stream));
      if (off.length > 0) log.info({ off }, `not scheduled: ${off.join(', ')}`);
      await untilAborted(signal);
    }
    log.info('stopping: runs under way are ended, nothing is half stored');
  } finally {
    if (scheduler !== undefined) {
      await stopRuns({ scheduler, sessions, connection: warehouse.connection, log });
    }
    monitor.stop();
    await server.close();
    metrics.close();
    log.info('stopped');
  }
}

/** Schedules are in whole seconds; what is left of the milliseconds is the time that this took. */
function roundToSecond(ms: number): number {
  return Math.round(ms / SECOND_MS) * SECOND_MS;
}

/** Nobody wants to wait a quarter of an hour for the first rows. */
function fireNeverSynced(scheduler: Scheduler, scheduled: readonly StreamName[], status: Status): void {
  for (const { stream, lastSuccessMs } of status.streams) {
    if (lastSuccessMs === null && scheduled.includes(stream)) scheduler.fire(stream);
  }
}
