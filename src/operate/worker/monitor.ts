/**
 * Reads the state of the warehouse every few seconds, so that status requests never wait for the database. Logs the
 * beginning and the end of an outage once, whether runs, this read or the alerts meet it.
 */
import type { AccountsRead } from '../status/read-accounts.ts';
import type { WarehouseFacts } from '../status/facts.ts';
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
  readonly log: Logger;
  /** The interval between reads. */
  readonly everyMs: number;
}

/** After a run; several that end together cause one read. */
const SOON_MS = 300;
const READ_TIMEOUT_MS = 10 * SECOND_MS;

export type Monitor = ReturnType<typeof createMonitor>;

export function createMonitor({ clock, log, everyMs, ...options }: MonitorOptions) {
  let accountsRead: AccountsRead | null = null;
  let problem: WarehouseFacts['problem'] = null;
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;
  let isStopped = false;
  let connectedMs = -Infinity;

  function recordFailure({ code, message, advice }: SafetySyncError): void {
    if (isStopped) return;
    if (problem === null) {
      log.error(
        { error_code: code, error_message: message, advice },
        `the database cannot be used (${code}: ${message}); retrying; further failures are not logged until it is back. ${advice}`,
      );
      problem = { code, message, advice, sinceMs: clock.now() };
    }
    // A lost session has no reason of its own.
    if (problem.code === 'lock_lost') problem = { ...problem, code, message, advice };
  }

  /** The database can be used. */
  function recordResponse(): void {
    if (problem === null) return;
    const durationMs = Math.max(0, clock.now() - problem.sinceMs);
    problem = null;
    log.info(
      { duration_ms: Math.round(durationMs) },
      `the database is back after ${formatDuration(durationMs)}`,
    );
  }

  /** Ends an outage when a new connection opens. Connections that are already open prove nothing. */
  async function endOutage(): Promise<void> {
    if (problem === null) return;
    await options.connect();
    recordResponse();
    // Where connections are scarce, runs that try again at once take them from each other.
    const nowMs = clock.monotonicMs();
    if (nowMs - connectedMs < everyMs) return;
    connectedMs = nowMs;
    options.onConnected();
  }

  /** A result that arrives after the timeout is still used. */
  const read = oneAtATime(async (): Promise<void> => {
    accountsRead = await options.read();
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
      recordFailure(toDatabaseError(error));
    }
    if (!isStopped) timer ??= setInterval(() => void refresh(), everyMs);
  });

  return {
    get latest(): WarehouseFacts {
      return { accountsRead, problem };
    },
    recordFailure,
    recordResponse,
    /** Reads now, and then regularly; never rejects. */
    refresh,
    /** Reads within a second, because a run has changed the state. */
    refreshSoon(): void {
      if (isStopped) return;
      soon ??= setTimeout(() => {
        soon = undefined;
        void refresh();
      }, SOON_MS);
    },
    /** Waits a moment for what is being read. */
    async stop(): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      clearTimeout(soon);
      await withTimeout(refresh.idle(), SECOND_MS);
    },
  };
}
