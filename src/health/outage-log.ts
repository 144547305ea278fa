/** An outage of the service or of the database: logged once when it begins and once when it is over. */
import { formatDuration, formatNumber } from '../shared/format.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import type { Clock } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';

type Dependency = 'service' | 'database';

export interface Outage {
  readonly dependency: Dependency;
  /** ms since 1970, by our clock. */
  readonly sinceMs: number;
  readonly failedRuns: number;
  /** Of the first failure. */
  readonly code: string;
  readonly message: string;
}

/** Of the database one response ends the outage; of the service each stream that failed has to get one. */
export interface OutageLog {
  /** `run`: undefined for the worker's own look at the database, which is no failed run. */
  recordFailure(error: SafetySyncError, run?: { readonly stream: StreamName; readonly kind: string }): void;
  /** The dependency has responded, whatever it said. */
  recordResponse(stream?: StreamName): void;
  /** A run of the stream succeeded and asked nothing: it leaves an outage in which other streams got responses. */
  recordUnasked(stream: StreamName): void;
  readonly current: Outage | undefined;
}

/** What cannot be reached or does not respond as it should; undefined for every other failure. */
export function dependencyOf({ code, recovery }: SafetySyncError): Dependency | undefined {
  if (code === 'database_unreachable' || code === 'lock_lost') return 'database';
  return recovery === 'retry' ? 'service' : undefined;
}

interface OpenOutage {
  readonly sinceMs: number;
  readonly startedMs: number;
  readonly error: SafetySyncError;
  readonly failing: Set<StreamName>;
  hasResponded: boolean;
  failedRuns: number;
}

interface OutageLogOptions {
  readonly dependency: Dependency;
  readonly log: Logger;
  readonly clock: Clock;
}

export function createOutageLog({ dependency, log, clock }: OutageLogOptions): OutageLog {
  let open: OpenOutage | undefined;

  function begin(error: SafetySyncError, run: object): OpenOutage {
    const { code, message, advice } = error;
    log.error(
      { outage: dependency, error_code: code, error_message: message, advice, ...run },
      `the ${dependency} cannot be used (${code}: ${message}); trying on, silent until it is back. ${advice}`,
    );
    return {
      sinceMs: clock.now(),
      startedMs: clock.monotonicMs(),
      error,
      failing: new Set(),
      hasResponded: false,
      failedRuns: 0,
    };
  }

  function endWhenNoneFails({ failing, startedMs, failedRuns }: OpenOutage): void {
    if (failing.size > 0) return;
    open = undefined;
    const durationMs = clock.monotonicMs() - startedMs;
    log.info(
      { outage: dependency, duration_ms: Math.round(durationMs), failed_runs: failedRuns },
      `the ${dependency} is back after ${formatDuration(durationMs)}; ${formatNumber(failedRuns, 'run')} failed meanwhile`,
    );
  }

  return {
    recordFailure(error, run) {
      open ??= begin(error, { ...run });
      if (run === undefined) return;
      open.failedRuns += 1;
      open.failing.add(run.stream);
    },
    recordResponse(stream) {
      if (open === undefined) return;
      open.hasResponded = true;
      if (stream === undefined || dependency === 'database') open.failing.clear();
      else open.failing.delete(stream);
      endWhenNoneFails(open);
    },
    recordUnasked(stream) {
      if (open?.hasResponded !== true) return;
      open.failing.delete(stream);
      endWhenNoneFails(open);
    },
    get current() {
      if (open === undefined) return undefined;
      const { sinceMs, failedRuns, error } = open;
      return { dependency, sinceMs, failedRuns, code: error.code, message: error.message };
    },
  };
}
