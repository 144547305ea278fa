/** Reads the state of the warehouse every few seconds, so that status requests never wait for the database. */
import type { AccountsRead } from '../status/read-accounts.ts';
import type { WarehouseFacts } from '../status/facts.ts';
import { type DatabaseOutage, isOutage } from '../status/database-outage.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import { oneAtATime } from '../../shared/one-at-a-time.ts';
import { type Clock, SECOND_MS, withTimeout } from '../../shared/time.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';

export interface MonitorOptions {
  readonly read: () => Promise<AccountsRead>;
  /** Opens and closes a new connection, as every run does. Called during an outage only. */
  readonly connect: () => Promise<unknown>;
  /** Called when a new connection was opened during an outage, at most once per `everyMs`: failed runs may retry. */
  readonly onConnected: () => void;
  readonly clock: Clock;
  readonly outage: DatabaseOutage;
  readonly log: Logger;
  /** The interval between reads. */
  readonly everyMs: number;
}

/** After a run; several that end together cause one read. */
const SOON_MS = 300;
const READ_TIMEOUT_MS = 10 * SECOND_MS;

export type Monitor = ReturnType<typeof createMonitor>;

export function createMonitor(options: MonitorOptions) {
  const { clock, outage, log, everyMs } = options;
  let latest: WarehouseFacts = { accountsRead: null, problem: null };
  let timer: NodeJS.Timeout | undefined;
  let timerAtMs = Infinity;
  let isStopped = false;
  let connectedMs = -Infinity;

  function recordFailure(caught: unknown): void {
    if (isStopped) return;
    const error = toDatabaseError(caught);
    const { code, message, advice } = error;
    const sinceMs = latest.problem?.sinceMs ?? clock.now();
    latest = { ...latest, problem: { code, message, advice, sinceMs } };
    if (isOutage(error)) outage.recordFailure(error);
    else log.error({ error_code: code }, `the status cannot be read: ${message}`);
  }

  /** Ends an outage when a new connection opens. Connections that are already open prove nothing. */
  async function endOutage(): Promise<void> {
    if (outage.current === null) return;
    await options.connect();
    outage.recordResponse();
    // Where connections are scarce, runs that try again at once take them from each other.
    const nowMs = clock.monotonicMs();
    if (nowMs - connectedMs < everyMs) return;
    connectedMs = nowMs;
    options.onConnected();
  }

  /** A result that arrives after the timeout is still used. */
  const read = oneAtATime(async (): Promise<void> => {
    latest = { accountsRead: await options.read(), problem: null };
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
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await withTimeout(refresh.idle(), SECOND_MS);
    },
  };
}
