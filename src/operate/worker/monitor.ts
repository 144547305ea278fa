/** Reads the state of the warehouse every few seconds, so that status requests never wait for the database. */
import type { AccountsRead } from '../status/read-accounts.ts';
import type { AccountRows } from '../status/read-account-rows.ts';
import type { Volumes } from '../status/read-volumes.ts';
import { NO_WAREHOUSE_STATE, type WarehouseFacts } from '../status/facts.ts';
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import { oneAtATime } from '../../shared/one-at-a-time.ts';
import { type Clock, MINUTE_MS, SECOND_MS, withTimeout } from '../../shared/time.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';

export interface MonitorOptions {
  /** The frequent, cheap read. `rows`: of the only account. */
  readonly read: () => Promise<{ readonly accountsRead: AccountsRead; readonly rows: AccountRows | null }>;
  /** Counts rows, which is expensive; called less often than `read`. */
  readonly count: () => Promise<Volumes | null>;
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

/** After a run; several that end together cause one read. */
const SOON_MS = 300;
const READ_TIMEOUT_MS = 10 * SECOND_MS;
/** Counting takes at most 1/50 of the time, within these bounds. */
const COUNTING_SHARE = 50;
const LEAST_COUNT_REST_MS = SECOND_MS;
const MOST_COUNT_REST_MS = 2 * MINUTE_MS;

export type Monitor = ReturnType<typeof createMonitor>;

export function createMonitor(options: MonitorOptions) {
  const { clock, outage, log, everyMs } = options;
  let latest = NO_WAREHOUSE_STATE;
  let timer: NodeJS.Timeout | undefined;
  let timerAtMs = Infinity;
  let isStopped = false;
  let countAtMs = -Infinity;
  let connectedMs = -Infinity;

  function recordFailure(caught: unknown): void {
    if (isStopped) return;
    const error = toDatabaseError(caught);
    const { code, message, advice } = error;
    latest = {
      ...latest,
      problem: { code, message, advice, sinceMs: latest.problem?.sinceMs ?? clock.now() },
    };
    if (dependencyOf(error) === 'database') outage.recordFailure(error);
    else log.error({ error_code: code }, `the status cannot be read: ${message}`);
  }

  /** Runs apart from the reads, because counting can take minutes. If it fails, the last counts are shown. */
  const count = oneAtATime(async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    if (startedMs < countAtMs || isStopped) return;
    try {
      latest = { ...latest, volumes: await options.count() };
    } catch (error) {
      log.debug({ error_code: toDatabaseError(error).code }, 'the rows could not be counted');
    }
    const endedMs = clock.monotonicMs();
    const shareMs = (endedMs - startedMs) * COUNTING_SHARE;
    countAtMs = endedMs + Math.min(Math.max(LEAST_COUNT_REST_MS, shareMs), MOST_COUNT_REST_MS);
  });

  /** Ends an outage when a new connection opens. Connections that are already open prove nothing. */
  async function endOutage(): Promise<void> {
    if (outage.current === undefined) return;
    await options.connect();
    outage.recordResponse();
    // Where connections are scarce, runs that try again at once take them from each other.
    const nowMs = clock.monotonicMs();
    if (nowMs - connectedMs < everyMs) return;
    connectedMs = nowMs;
    options.onConnected?.();
  }

  /** A result that arrives after the timeout is still used. */
  const read = oneAtATime(async (): Promise<void> => {
    latest = { ...latest, ...(await options.read()), problem: null };
    if (latest.accountsRead?.pendingMigrations === 0) void count();
    await endOutage();
  });

  const refresh = oneAtATime(async (): Promise<void> => {
    try {
      const { inTime } = await withTimeout(read(), READ_TIMEOUT_MS);
      if (!inTime) {
        const message = `PostgreSQL has not responded for ${formatDuration(READ_TIMEOUT_MS)}`;
        throw new SafetySyncError('database_unreachable', message);
      }
    } catch (error) {
      recordFailure(error);
    }
    schedule(everyMs);
  });

  /** A later call does not delay a read that is already scheduled. */
  function schedule(ms: number): void {
    const atMs = clock.monotonicMs() + ms;
    if (isStopped || atMs >= timerAtMs) return;
    clearTimeout(timer);
    timerAtMs = atMs;
    timer = setTimeout(() => {
      timerAtMs = Infinity;
      void refresh();
    }, ms);
  }

  return {
    get latest(): WarehouseFacts {
      return { ...latest, problem: outage.current ?? latest.problem };
    },
    /** Reads now; never rejects. */
    refresh,
    /** Reads within a second, because a run has changed the state. */
    refreshSoon: () => schedule(SOON_MS),
    /** Waits a moment for what is being read. */
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await withTimeout(Promise.all([refresh.idle(), count.idle()]), SECOND_MS);
    },
  };
}
