/** Logs the beginning and the end of an outage of the service or the database, once each. */
import { formatDuration, formatNumber } from '../../shared/format.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Clock } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';

type Dependency = 'service' | 'database';

export interface Outage {
  readonly dependency: Dependency;
  /** ms since 1970, by this process's clock. */
  readonly sinceMs: number;
  readonly failedRuns: number;
  /** The first failure with a specific reason; a lost session has none. */
  readonly code: string;
  readonly message: string;
  /** Advice for that failure. */
  readonly advice: string;
}

/** A stream of an account. */
interface Target {
  readonly accountId: string;
  readonly stream: StreamName;
}

interface FailedRun extends Target {
  readonly kind: string;
  /** The stream has a schedule, so its next run can end the outage. */
  readonly isScheduled: boolean;
}

/** Which dependency was unreachable or responded with errors; undefined for every other failure. */
export function dependencyOf({ code, recovery }: SafetySyncError): Dependency | undefined {
  if (code === 'database_unreachable' || code === 'lock_lost') return 'database';
  return recovery === 'retry' ? 'service' : undefined;
}

interface OpenOutage {
  readonly sinceMs: number;
  readonly startedMs: number;
  error: SafetySyncError;
  readonly failing: Map<string, Target>;
  /** No new connection has succeeded since the newest failure. */
  needsLook: boolean;
  hasResponded: boolean;
  failedRuns: number;
}

interface OutageLogOptions {
  readonly dependency: Dependency;
  readonly log: Logger;
  readonly clock: Clock;
}

const outageKey = ({ accountId, stream }: Target): string => `${stream} ${accountId}`;

export type OutageLog = ReturnType<typeof createOutageLog>;

/**
 * An outage ends when each failed stream has had a response since. For the database, a new connection must succeed as well,
 * because open connections may still work while new ones fail.
 */
export function createOutageLog({ dependency, log, clock }: OutageLogOptions) {
  let open: OpenOutage | undefined;

  function begin(error: SafetySyncError, run: FailedRun | undefined): OpenOutage {
    const { code, message, advice } = error;
    const of = run === undefined ? {} : { stream: run.stream, kind: run.kind };
    log.error(
      { outage: dependency, error_code: code, error_message: message, advice, ...of },
      `the ${dependency} cannot be used (${code}: ${message}); retrying; further failures are not logged until it is back. ${advice}`,
    );
    // A run fails minutes after the first failure of its request.
    const { repeatedForMs = 0 } = error;
    return {
      sinceMs: clock.now() - repeatedForMs,
      startedMs: clock.monotonicMs() - repeatedForMs,
      error,
      failing: new Map(),
      needsLook: false,
      hasResponded: false,
      failedRuns: 0,
    };
  }

  function endWhenNoneFails({ failing, needsLook, startedMs, failedRuns }: OpenOutage): void {
    if (failing.size > 0 || needsLook) return;
    open = undefined;
    const durationMs = clock.monotonicMs() - startedMs;
    log.info(
      { outage: dependency, duration_ms: Math.round(durationMs), failed_runs: failedRuns },
      `the ${dependency} is back after ${formatDuration(durationMs)}; ${formatNumber(failedRuns, 'run')} failed meanwhile`,
    );
  }

  return {
    /** `run`: undefined for the worker's own check of the database. */
    recordFailure(error: SafetySyncError, run?: FailedRun) {
      open ??= begin(error, run);
      if (open.error.code === 'lock_lost') open.error = error;
      open.needsLook = dependency === 'database';
      if (run === undefined) return;
      open.failedRuns += 1;
      if (run.isScheduled) open.failing.set(outageKey(run), run);
    },
    /** The dependency has responded. `target`: undefined for a check of the database by a new connection. */
    recordResponse(target?: Target) {
      if (open === undefined) return;
      open.hasResponded = true;
      if (target === undefined) open.needsLook = false;
      else open.failing.delete(outageKey(target));
      endWhenNoneFails(open);
    },
    /** A run of the stream succeeded without a request: the stream leaves the outage if other streams have had responses. */
    recordUnasked(target: Target) {
      if (open?.hasResponded !== true) return;
      open.failing.delete(outageKey(target));
      endWhenNoneFails(open);
    },
    /** Streams that need a successful run before the outage ends. */
    get failing(): Target[] {
      return [...(open?.failing.values() ?? [])];
    },
    get current(): Outage | undefined {
      if (open === undefined) return undefined;
      const { sinceMs, failedRuns, error } = open;
      const { code, message, advice } = error;
      return { dependency, sinceMs, failedRuns, code, message, advice };
    },
  };
}
