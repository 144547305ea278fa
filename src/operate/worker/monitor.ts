/** Reads the state of the warehouse every few seconds, so that status requests never wait for the database. */
import type { WarehouseRead } from '../status/read-account-rows.ts';
import type { Volumes } from '../status/read-volumes.ts';
import { NO_WAREHOUSE_STATE, type WarehouseFacts } from '../status/status.ts';
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../../shared/time.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';

export interface MonitorOptions {
  /** The frequent, cheap read. */
  readonly read: () => Promise<WarehouseRead>;
  /** Counts rows, which is expensive; called less often than `read`. */
  readonly count: () => Promise<Volumes | null>;
  /** The cheapest query, for example `select 1`. */
  readonly ping: () => Promise<unknown>;
  /** Opens and closes a new connection, as every run does. Called during an outage only. */
  readonly connect: () => Promise<unknown>;
  /** Called when a new connection was opened during an outage, at most once per `everyMs`: failed runs may retry. */
  readonly onConnected?: (() => void) | undefined;
  readonly clock: Clock;
  readonly outage: OutageLog;
  readonly log: Logger;
  /** The interval between reads. */
  readonly everyMs: number;
}

const SOON_MS = 300;
/** Timeout of a read, and of the ping that follows. */
const READ_TIMEOUT_MS = 5 * SECOND_MS;
/** Reads take at most 1/20 of the time, because their cost grows with the number of accounts; but see `MOST_REST_MS`. */
const READING_SHARE = 20;
/** Longest pause after a slow read. */
const MOST_REST_MS = 30 * SECOND_MS;
/** Counting takes at most 1/200 of the time, within these bounds. */
const COUNTING_SHARE = 200;
const COUNT_EVERY_MS = 15 * SECOND_MS;
const MOST_COUNT_REST_MS = 2 * MINUTE_MS;

/** Concurrent calls share one read, so a hanging database gets one query. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= work().finally(() => (underWay = undefined)));
}

export type Monitor = ReturnType<typeof createMonitor>;

export function createMonitor(options: MonitorOptions) {
  const { clock, outage, log, everyMs } = options;
  let latest = NO_WAREHOUSE_STATE;
  let timer: NodeJS.Timeout | undefined;
  let timerAtMs = Infinity;
  let isStopped = false;
  let countAtMs = -Infinity;
  let restUntilMs = -Infinity;
  let respondedAtMs = -Infinity;
  let connectedAtMs = -Infinity;

  /** `isCount`: if PostgreSQL refuses the count (for example by a statement timeout), the other values stay current. */
  function recordFailure(caught: unknown, { isCount = false } = {}): void {
    if (isStopped) return;
    const error = toDatabaseError(caught);
    const isAway = dependencyOf(error) === 'database';
    if (isAway || !isCount) latest = { ...latest, problem: error.message, isSlow: false };
    if (isAway) outage.recordFailure(error);
    else log.error({ error_code: error.code }, `the status cannot be read: ${error.message}`);
  }

  const ping = oneAtATime(options.ping);

  /** Runs apart from the reads, because counting can take minutes. */
  const count = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const countedAtMs = clock.now();
    if (startedMs < countAtMs || isStopped) return;
    let restMs = COUNT_EVERY_MS;
    try {
      const counted = await options.count();
      latest = { ...latest, counted, countedAtMs };
      const shareMs = (clock.monotonicMs() - startedMs) * COUNTING_SHARE;
      restMs = Math.min(Math.max(COUNT_EVERY_MS, shareMs), MOST_COUNT_REST_MS);
    } catch (error) {
      recordFailure(error, { isCount: true });
    }
    countAtMs = clock.monotonicMs() + restMs;
  });

  /** A result that arrives after the timeout is still used. */
  const read = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const accountsRead = await options.read();
    const endedMs = clock.monotonicMs();
    respondedAtMs = endedMs;
    latest = { ...latest, accountsRead, problem: null, isSlow: endedMs - startedMs > READ_TIMEOUT_MS };
    restUntilMs = endedMs + Math.min((endedMs - startedMs) * READING_SHARE, MOST_REST_MS);
    if (accountsRead.pendingMigrations === 0) void count();
  });

  /** Called when a read timed out: a ping distinguishes a slow database from an unreachable one. */
  async function judgeSilence(sinceMs: number): Promise<void> {
    const { inTime } = await withTimeout(ping(), READ_TIMEOUT_MS);
    if (inTime) respondedAtMs = clock.monotonicMs();
    if (respondedAtMs < sinceMs) {
      throw new SafetySyncError('database_unreachable', 'PostgreSQL does not respond');
    }
    // Logged once, and again only after a quick read.
    if (!latest.isSlow) {
      log.warn(
        `the database is slow: the status has not been read within ${formatDuration(READ_TIMEOUT_MS)}; the last read is shown with its age`,
      );
    }
    latest = { ...latest, problem: null, isSlow: true };
  }

  /** Ends an outage when a new connection opens. Connections that are already open prove nothing. */
  async function endOutage(): Promise<void> {
    if (outage.current === undefined) return;
    await options.connect();
    outage.recordResponse();
    const nowMs = clock.monotonicMs();
    // Limits the retries: where connections are scarce, immediate retries take them from each other.
    if (nowMs - connectedAtMs < everyMs) return;
    connectedAtMs = nowMs;
    options.onConnected?.();
  }

  const refresh = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    try {
      const { inTime } = await withTimeout(read(), READ_TIMEOUT_MS);
      if (!inTime) await judgeSilence(startedMs);
      await endOutage();
    } catch (error) {
      recordFailure(error);
    }
    schedule(everyMs);
  });

  /** A later call does not delay a read that is already scheduled: with many accounts runs end all the time. */
  function schedule(ms: number): void {
    const nowMs = clock.monotonicMs();
    const atMs = Math.max(nowMs + ms, restUntilMs);
    if (isStopped || atMs >= timerAtMs) return;
    clearTimeout(timer);
    timerAtMs = atMs;
    timer = setTimeout(() => {
      timerAtMs = Infinity;
      void refresh();
    }, atMs - nowMs);
  }

  return {
    get latest(): WarehouseFacts {
      return { ...latest, problem: latest.problem ?? outage.current?.message ?? null };
    },
    /** Reads now; never rejects. */
    refresh,
    /** Reads within a second, because a run has changed the state. */
    refreshSoon: () => schedule(SOON_MS),
    /** A run of this worker got a response: the database is reachable, even if a read hangs. */
    recordResponse: () => void (respondedAtMs = clock.monotonicMs()),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
