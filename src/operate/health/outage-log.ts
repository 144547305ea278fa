/** Logs the beginning and the end of an outage of the service or the database, once each. */
import { formatDuration, formatNumber } from '../../shared/format.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Clock } from '../../shared/time.ts';

type Dependency = 'service' | 'database';

interface Outage {
  readonly dependency: Dependency;
  /** ms since 1970, by this process's clock. */
  readonly sinceMs: number;
  readonly failedRuns: number;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
}

/** Which dependency was unreachable or responded with errors; undefined for every other failure. */
export function dependencyOf({ code, recovery }: SafetySyncError): Dependency | undefined {
  if (code === 'database_unreachable' || code === 'lock_lost') return 'database';
  return recovery === 'retry' ? 'service' : undefined;
}

interface OutageLogOptions {
  readonly dependency: Dependency;
  readonly log: Logger;
  readonly clock: Clock;
}

export type OutageLog = ReturnType<typeof createOutageLog>;

export function createOutageLog({ dependency, log, clock }: OutageLogOptions) {
  let open: Outage | undefined;

  return {
    /** `isRun` false: a check by the worker itself. */
    recordFailure({ code, message, advice }: SafetySyncError, isRun = false) {
      if (open === undefined) {
        log.error(
          { outage: dependency, error_code: code, error_message: message, advice },
          `the ${dependency} cannot be used (${code}: ${message}); retrying; further failures are not logged until it is back. ${advice}`,
        );
        open = { dependency, sinceMs: clock.now(), failedRuns: 0, code, message, advice };
      }
      // A lost session has no reason of its own.
      if (open.code === 'lock_lost') open = { ...open, code, message, advice };
      if (isRun) open = { ...open, failedRuns: open.failedRuns + 1 };
    },
    /** The dependency can be used. */
    recordResponse() {
      if (open === undefined) return;
      const { sinceMs, failedRuns } = open;
      open = undefined;
      const durationMs = Math.max(0, clock.now() - sinceMs);
      log.info(
        { outage: dependency, duration_ms: Math.round(durationMs), failed_runs: failedRuns },
        `the ${dependency} is back after ${formatDuration(durationMs)}; ${formatNumber(failedRuns, 'run')} failed meanwhile`,
      );
    },
    get current(): Outage | undefined {
      return open;
    },
  };
}
