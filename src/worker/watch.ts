/** What a worker tells of itself: a monitor looks at the warehouse, and routes are answered from what it saw last. */
import type { App } from '../app.ts';
import { type AccountFacts, buildStatus } from '../status/build-status.ts';
import type { Metrics } from '../status/metrics.ts';
import { type AccountsRead, readAccounts } from '../status/read-accounts.ts';
import { readVolumes, type Volumes } from '../status/read-volumes.ts';
import type { Status, WorkerState } from '../status/status.ts';
import { SECOND_MS, withTimeout } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import { VERSION } from '../version.ts';
import { toDatabaseError } from '../database/database-error.ts';
import type { AccountRunner } from './account-runner.ts';
import type { Routes } from './http-server.ts';
import { createMonitor, type Monitor, type MonitorOptions, type Sighting } from './monitor.ts';
import { buildRoutes } from './routes.ts';
import type { RunQueue } from './run-queue.ts';
import type { Scheduler } from './scheduler.ts';

export interface Watch {
  readonly monitor: Omit<Monitor<unknown, unknown>, 'latest'>;
  readonly routes: Routes;
  /** Of an account, the streams that have never succeeded, as far as was seen. */
  neverSynced(accountId: string): ReadonlySet<StreamName>;
}

/** What the process knows, whichever account is looked at. */
export interface ProcessFacts {
  readonly app: App;
  readonly startedMs: number;
  readonly state: () => WorkerState;
  readonly scheduler: Scheduler;
  readonly queue: RunQueue;
}

export interface WatchOptions {
  readonly facts: ProcessFacts;
  readonly runners: readonly AccountRunner[];
  readonly metrics: Metrics;
  readonly monitoring: Pick<
    MonitorOptions<never, never>,
    'clock' | 'outage' | 'onDefect' | 'onSlow' | 'everyMs'
  >;
}

type Seen = Sighting<AccountsRead, Volumes | null>;

/** Of thousands of accounts a Status takes a while: making it may take one part in this many of the time. */
const MAKING_SHARE = 20;

/** One of many is read when somebody looks at it, not longer than this; else what is known is shown. */
const ONE_PATIENCE_MS = 3 * SECOND_MS;

/** Schedules are in whole seconds; what is left of the milliseconds is the time that this took. */
function roundToSecond(ms: number): number {
  return Math.round(ms / SECOND_MS) * SECOND_MS;
}

function factsInShort({ account, pressure }: AccountRunner): AccountFacts {
  return {
    accountId: account.id,
    offReasons: account.offReasons,
    outage: account.health.outage,
    openCircuits: account.health.openCircuits,
    service: pressure,
    detail: null,
  };
}

/** With what only an account that is looked at by itself shows. */
function factsInFull(runner: AccountRunner, { app, scheduler }: ProcessFacts, seen: Seen): AccountFacts {
  const { account, progress } = runner;
  const { schedule, service } = account.config;
  const short = factsInShort(runner);
  const notAsked = {
    inFlight: 0,
    waiting: 0,
    concurrencyNow: app.config.api.concurrency,
    coolingUntilMs: null,
  };
  return {
    ...short,
    service: short.service ?? notAsked,
    detail: {
      timezone: schedule.timezone,
      entry: service?.entry,
      volumes: seen.counted,
      countedAtMs: seen.countedAtMs,
      nextRuns: scheduler.nextRuns(account.id).map(({ inMs, ...next }) => ({
        ...next,
        atMs: roundToSecond(app.clock.now() + inMs),
      })),
      progress,
    },
  };
}

function statusOf(
  facts: ProcessFacts,
  { seen, problem, isSlow }: Seen,
  accounts: readonly AccountFacts[],
): Status {
  const { app } = facts;
  const { load } = facts.queue;
  return buildStatus({
    version: VERSION,
    freshnessBudgetMinutes: app.config.freshnessBudgetMinutes,
    owner: app.owner,
    nowMs: app.clock.now(),
    startedMs: facts.startedMs,
    worker: facts.state(),
    isSchedulerAlive: facts.scheduler.isAlive(),
    queue: { ...load, longestWaitMs: Math.round(load.longestWaitMs) },
    seen,
    databaseProblem: problem,
    isDatabaseSlow: isSlow,
    databaseOutage: app.databaseOutage.current,
    accounts,
  });
}

export function createWatch({ facts, runners, metrics, monitoring }: WatchOptions): Watch {
  const { app } = facts;
  const { connection } = app.warehouse;
  const byId = new Map(runners.map((runner) => [runner.account.id, runner]));
  const ids = [...byId.keys()];
  const [only] = ids.length === 1 ? runners : [];
  const readInFull = (accountId: string) =>
    readAccounts(connection, [accountId], { clock: app.clock, isInFull: true });
  const monitor = createMonitor<AccountsRead, Volumes | null>({
    ...monitoring,
    ping: () => connection.query('select 1'),
    read: () =>
      only === undefined ? readAccounts(connection, ids, { clock: app.clock }) : readInFull(only.account.id),
    count: async () => (only === undefined ? null : await readVolumes(connection.db, only.account.id)),
  });

  let made: { readonly status: Status; readonly untilMs: number } | undefined;
  const status = (): Status => {
    const beganMs = app.clock.monotonicMs();
    if (made !== undefined && beganMs < made.untilMs) return made.status;
    const { latest } = monitor;
    const accounts = only === undefined ? runners.map(factsInShort) : [factsInFull(only, facts, latest)];
    const fresh = statusOf(facts, latest, accounts);
    const endedMs = app.clock.monotonicMs();
    // Of one account it costs nothing, and what was just stored is to be seen at once.
    if (only === undefined) made = { status: fresh, untilMs: endedMs + (endedMs - beganMs) * MAKING_SHARE };
    return fresh;
  };

  /** Questions for one account that come together are one question. */
  const asking = new Map<string, Promise<Seen>>();
  const lookAt = async (accountId: string): Promise<Seen> => {
    const nothing = { seen: null, counted: null, countedAtMs: null, problem: null, isSlow: false };
    try {
      const read = await withTimeout(readInFull(accountId), ONE_PATIENCE_MS);
      if (read.inTime) return { ...nothing, seen: read.value };
      // Whether it is unreachable the looks have found out.
      const { problem } = monitor.latest;
      return { ...nothing, problem, isSlow: problem === null };
    } catch (error) {
      return { ...nothing, problem: toDatabaseError(error).message };
    }
  };
  const statusOfOne = async (accountId: string): Promise<Status | undefined> => {
    const runner = byId.get(accountId);
    if (runner === undefined) return undefined;
    const look = asking.get(accountId) ?? lookAt(accountId).finally(() => asking.delete(accountId));
    asking.set(accountId, look);
    const seen = await look;
    return statusOf(facts, seen, [factsInFull(runner, facts, seen)]);
  };

  return {
    monitor,
    routes: buildRoutes({ status, statusOfOne, redact: app.blot, metrics }),
    neverSynced: (accountId) => {
      const seen = monitor.latest.seen?.accounts.get(accountId);
      const { scheduled = [] } = byId.get(accountId)?.account ?? {};
      return new Set(
        scheduled.filter((stream) => seen?.find((one) => one.stream === stream)?.lastSuccessMs == null),
      );
    },
  };
}
