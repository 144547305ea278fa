/** The status of a worker of one account, and of one of many: rows that were read, and what only this process knows. */
import type { App } from '../app.ts';
import { buildStatus } from '../status/build-status.ts';
import type { QueueReport, Status, WorkerState } from '../status/status.ts';
import type { RunQueue } from './run-queue.ts';
import type { Scheduler } from './scheduler.ts';
import { SECOND_MS } from '../shared/time.ts';
import { VERSION } from '../version.ts';
import type { Operations } from '../status/read-operations.ts';
import type { Volumes } from '../status/read-volumes.ts';
import type { AccountRunner } from './account-runner.ts';
import type { Sighting } from './monitor.ts';

/** What the process knows, whichever account is looked at. */
export interface ProcessFacts {
  readonly app: App;
  readonly startedMs: number;
  readonly state: () => WorkerState;
  readonly scheduler: Scheduler;
  readonly queue: RunQueue;
}

export function queueOf({ queue: { load } }: ProcessFacts): QueueReport {
  return { ...load, longestWaitMs: Math.round(load.longestWaitMs) };
}

/** Schedules are in whole seconds; what is left of the milliseconds is the time that this took. */
function roundToSecond(ms: number): number {
  return Math.round(ms / SECOND_MS) * SECOND_MS;
}

export function statusOfAccount(
  facts: ProcessFacts,
  { account, progress, pressure }: AccountRunner,
  { seen, counted, countedAtMs, problem, isSlow }: Sighting<Operations, Volumes>,
): Status {
  const { app, startedMs, state, scheduler } = facts;
  const { config, clock } = app;
  return buildStatus({
    version: VERSION,
    accountId: account.id,
    timezone: account.config.schedule.timezone,
    freshnessBudgetMinutes: config.freshnessBudgetMinutes,
    offReasons: account.offReasons,
    entry: account.config.service?.entry,
    owner: app.owner,
    nowMs: clock.now(),
    startedMs,
    worker: state(),
    isSchedulerAlive: scheduler.isAlive(),
    operations: seen,
    volumes: counted,
    countedAtMs,
    databaseProblem: problem,
    isDatabaseSlow: isSlow,
    outages: [app.databaseOutage.current, account.health.outage].filter((outage) => outage !== undefined),
    openCircuits: account.health.openCircuits,
    service: pressure ?? {
      inFlight: 0,
      waiting: 0,
      concurrencyNow: config.api.concurrency,
      coolingUntilMs: null,
    },
    queue: queueOf(facts),
    nextRuns: scheduler.nextRuns(account.id).map(({ inMs, ...next }) => ({
      ...next,
      atMs: roundToSecond(clock.now() + inMs),
    })),
    progress,
  });
}
