/** Logs the beginning and the end of an outage of the database, once each, whoever meets it: runs, the monitor, the alerts. */
import { formatDuration, formatNumber } from '../../shared/format.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Clock } from '../../shared/time.ts';
import type { WarehouseFacts } from './facts.ts';

export const isOutage = ({ code }: SafetySyncError): boolean =>
  code === 'database_unreachable' || code === 'lock_lost';

export type DatabaseOutage = ReturnType<typeof createDatabaseOutage>;

export function createDatabaseOutage({ log, clock }: { readonly log: Logger; readonly clock: Clock }) {
  let open: NonNullable<WarehouseFacts['problem']> | null = null;
  let failedRuns = 0;

  return {
    /** `isRun` false: a check by the worker itself. */
    recordFailure({ code, message, advice }: SafetySyncError, isRun = false): void {
      if (open === null) {
        log.error(
          { error_code: code, error_message: message, advice },
          `the database cannot be used (${code}: ${message}); retrying; further failures are not logged until it is back. ${advice}`,
        );
        open = { code, message, advice, sinceMs: clock.now() };
        failedRuns = 0;
      }
      // A lost session has no reason of its own.
      if (open.code === 'lock_lost') open = { ...open, code, message, advice };
      if (isRun) failedRuns += 1;
    },
    /** The database can be used. */
    recordResponse(): void {
      if (open === null) return;
      const durationMs = Math.max(0, clock.now() - open.sinceMs);
      open = null;
      log.info(
        { duration_ms: Math.round(durationMs), failed_runs: failedRuns },
        `the database is back after ${formatDuration(durationMs)}; ${formatNumber(failedRuns, 'run')} failed meanwhile`,
      );
    },
    get current() {
      return open;
    },
  };
}
