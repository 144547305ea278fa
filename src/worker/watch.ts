/** What a worker tells of itself: routes over what a monitor saw, for one account or for many. */
import type { Metrics } from '../status/metrics.ts';
import { buildOverview, type Overview } from '../status/overview.ts';
import type { Routes } from './http-server.ts';
import { buildAccountsRoutes, buildRoutes } from './routes.ts';
import { blotStatus, type Status } from '../status/status.ts';
import { SECOND_MS, withTimeout } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import { VERSION } from '../version.ts';
import { toDatabaseError } from '../database/database-error.ts';
import { readAccounts } from '../status/read-accounts.ts';
import { readOperations } from '../status/read-operations.ts';
import { readVolumes } from '../status/read-volumes.ts';
import type { AccountRunner } from './account-runner.ts';
import { createMonitor, type Monitor, type MonitorOptions, type Sighting } from './monitor.ts';
import { type ProcessFacts, queueOf, statusOfAccount } from './watch-one.ts';

export interface Watch {
  readonly monitor: Omit<Monitor<unknown, unknown>, 'latest'>;
  readonly routes: Routes;
  /** Of an account, the streams that have never succeeded, as far as was seen. */
  neverSynced(accountId: string): ReadonlySet<StreamName>;
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

export function watchOne({ facts, runners, metrics, monitoring }: WatchOptions): Watch {
  const [runner] = runners;
  if (runner === undefined) throw new RangeError('there is no account');
  const { connection } = facts.app.warehouse;
  const accountId = runner.account.id;
  const monitor = createMonitor({
    ...monitoring,
    ping: () => connection.query('select 1'),
    read: () => readOperations(connection, accountId, facts.app.clock),
    count: () => readVolumes(connection.db, accountId),
  });
  const status = (): Status => blotStatus(statusOfAccount(facts, runner, monitor.latest), facts.app.blot);
  return {
    monitor,
    routes: buildRoutes({ status, metrics }),
    neverSynced: () => neverOf(status().streams),
  };
}

function neverOf(streams: Status['streams'] | Overview['accounts'][number]['streams']): Set<StreamName> {
  return new Set(streams.flatMap(({ stream, lastSuccessMs }) => (lastSuccessMs === null ? [stream] : [])));
}

/** Of thousands of accounts an overview takes a while: making it may take one part in this many of the time. */
const MAKING_SHARE = 20;

/** One of many is read when somebody looks at it, not longer than this; else what is known is shown. */
const ONE_PATIENCE_MS = 3 * SECOND_MS;

export function watchMany({ facts, runners, metrics, monitoring }: WatchOptions): Watch {
  const { app } = facts;
  const { connection } = app.warehouse;
  const byId = new Map(runners.map((runner) => [runner.account.id, runner]));
  const monitor = createMonitor({
    ...monitoring,
    ping: () => connection.query('select 1'),
    read: () => readAccounts(connection, [...byId.keys()], app.clock),
    count: () => Promise.resolve(null),
  });

  const make = (): Overview => {
    const { seen, problem, isSlow } = monitor.latest;
    return buildOverview({
      version: VERSION,
      freshnessBudgetMinutes: app.config.freshnessBudgetMinutes,
      owner: app.owner,
      nowMs: app.clock.now(),
      startedMs: facts.startedMs,
      worker: facts.state(),
      isSchedulerAlive: facts.scheduler.isAlive(),
      sight: seen,
      databaseProblem: problem,
      isDatabaseSlow: isSlow,
      databaseOutage: app.databaseOutage.current,
      queue: queueOf(facts),
      accounts: runners.map(({ account, pressure }) => ({
        accountId: account.id,
        scheduled: account.scheduled,
        outage: account.health.outage,
        openCircuits: account.health.openCircuits,
        service: pressure,
      })),
    });
  };

  let made: { readonly overview: Overview; readonly untilMs: number } | undefined;
  const overview = (): Overview => {
    const beganMs = app.clock.monotonicMs();
    if (made !== undefined && beganMs < made.untilMs) return made.overview;
    const fresh = make();
    const endedMs = app.clock.monotonicMs();
    made = { overview: fresh, untilMs: endedMs + (endedMs - beganMs) * MAKING_SHARE };
    return fresh;
  };

  /** Questions for one account that come together are one question. */
  const asking = new Map<string, Promise<Sighting<Awaited<ReturnType<typeof readOperations>>, never>>>();
  const lookAt = (accountId: string) => {
    const before = asking.get(accountId);
    if (before !== undefined) return before;
    const look = (async () => {
      const nothing = { seen: null, counted: null, countedAtMs: null, problem: null, isSlow: false };
      try {
        const read = await withTimeout(readOperations(connection, accountId, app.clock), ONE_PATIENCE_MS);
        if (read.inTime) return { ...nothing, seen: read.value };
        // Whether it is away the looks have found out.
        const { problem } = monitor.latest;
        return { ...nothing, problem, isSlow: problem === null };
      } catch (error) {
        return { ...nothing, problem: toDatabaseError(error).message };
      }
    })().finally(() => asking.delete(accountId));
    asking.set(accountId, look);
    return look;
  };

  const status = async (accountId: string): Promise<Status | undefined> => {
    const runner = byId.get(accountId);
    if (runner === undefined) return undefined;
    return blotStatus(statusOfAccount(facts, runner, await lookAt(accountId)), app.blot);
  };

  return {
    monitor,
    routes: buildAccountsRoutes({ overview, status, blot: app.blot, metrics }),
    neverSynced: (accountId) => {
      const sights = monitor.latest.seen?.accounts.get(accountId) ?? [];
      const synced = new Set(sights.flatMap((one) => (one.lastSuccessMs === null ? [] : [one.stream])));
      const scheduled = byId.get(accountId)?.account.scheduled ?? [];
      return new Set(scheduled.filter((stream) => !synced.has(stream)));
    },
  };
}
