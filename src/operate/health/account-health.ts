/**
 * Decides whether an account's service can be used. Each scheduled run requests a permit and returns its result to it. The
 * start and the end of a problem are each logged once. The status, and the queue's decision about slots, depend on this
 * state.
 *
 * There are two kinds of problems. If the service refuses the credentials, the circuit breaker holds requests back. If the
 * service is unreachable or responds with errors, that is an outage, and scheduled requests continue.
 */
import type { Backoff } from '../../shared/backoff.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Clock } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { authFailureOf, runFailure, type RunResult } from '../../engine/sync/run.ts';
import {
  type CircuitChange,
  createCircuitBreaker,
  type OpenCircuit,
  type Permit,
} from './circuit-breaker.ts';
import { createOutageLog, dependencyOf, type Outage, type OutageLog } from './outage-log.ts';

/** A sync that follows from the result of another run. */
export interface NextSync {
  readonly stream: StreamName;
  /** 0: now. */
  readonly inMs: number;
}

interface AccountHealthOptions {
  readonly accountId: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** The scheduled streams. */
  readonly streams: readonly StreamName[];
  /** The outage log of the database, which all accounts share. */
  readonly database: OutageLog;
  readonly delays?: Backoff | undefined;
  /** Whether the credentials have changed since the service refused them. */
  readonly hasNewToken?: () => boolean;
}

export type AccountHealth = ReturnType<typeof createAccountHealth>;

export function createAccountHealth({ accountId, log, clock, streams, ...options }: AccountHealthOptions) {
  const breaker = createCircuitBreaker(clock, options.delays);
  const outage = createOutageLog({ dependency: 'service', log, clock });
  let notify: (isHealthy: boolean) => void = () => undefined;

  /** Returns true when the failure belongs to an outage; the beginning of the outage was logged. */
  function followOutages(result: RunResult, kind: string): boolean {
    const { stream } = result;
    const error = runFailure(result);
    const dependency = error === undefined ? undefined : dependencyOf(error);
    const target = { accountId, stream };
    const failedRun = { ...target, kind, isScheduled: streams.includes(stream) };
    if (error !== undefined && dependency === 'database') options.database.recordFailure(error, failedRun);
    else options.database.recordResponse(target);
    if (error !== undefined && dependency === 'service')
      outage.recordFailure(error, { ...failedRun, isScheduled: true });
    if (hasResponse(result)) outage.recordResponse(target);
    else if (error === undefined) outage.recordUnasked(target);
    notify(outage.current === undefined);
    return dependency !== undefined;
  }

  function followNoResponse({ stream, outcome }: RunResult, trial: CircuitChange['trial']): NextSync[] {
    if (trial === null) return [];
    if (trial.scope === 'account') {
      // Tries the next stream, because this one may have nothing to request.
      const next = streams[(streams.indexOf(stream) + 1) % streams.length] ?? stream;
      return [{ stream: next, inMs: trial.inMs }];
    }
    // A stream with an open circuit of its own and nothing to request waits for its schedule.
    return outcome === 'failed' ? [{ stream, inMs: trial.inMs }] : [];
  }

  function followCircuits(result: RunResult, permit: Permit): NextSync[] {
    const { stream } = result;
    const error = authFailureOf(result);
    if (error === undefined && !hasResponse(result)) return followNoResponse(result, permit.noResponse());
    const { closed, trial } = error === undefined ? permit.accepted() : permit.authFailed(error);
    if (closed === 'stream') log.info({ stream }, `the service lets the token read ${stream} again`);
    if (closed === 'account')
      log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
    if (error !== undefined && trial !== null) {
      const { scope, inMs } = trial;
      const what = scope === 'stream' ? `${stream} is not` : 'nothing is';
      log.error(
        { stream, error_code: error.code, request_id: error.requestId, next_try_ms: inMs },
        `THE SERVICE REFUSES THE CREDENTIALS (${error.code}): ${what} requested; the next try is in ${formatDuration(inMs)}. ${error.advice}`,
      );
    }
    const others = closed === 'account' ? streams.filter((other) => other !== stream) : [];
    return [
      ...others.map((other) => ({ stream: other, inMs: 0 })),
      ...(trial === null ? [] : [{ stream, inMs: trial.inMs }]),
    ];
  }

  return {
    /** Returns a permit for a run; undefined: the circuit is open for this stream. */
    admit(stream: StreamName) {
      let permit = breaker.admit(stream);
      if (permit === undefined && options.hasNewToken?.() === true) {
        breaker.tryNow();
        permit = breaker.admit(stream);
      }
      if (permit === undefined) {
        // The stream does not run, so it cannot prove that the database is back.
        options.database.recordResponse({ accountId, stream });
        return undefined;
      }
      return {
        /** Called when the run has ended. `isLogged`: its failure was logged here, now or at the beginning of the problem. */
        end(result: RunResult, kind: string) {
          const isOutage = followOutages(result, kind);
          const nextSyncs = followCircuits(result, permit);
          return { isLogged: isOutage || authFailureOf(result) !== undefined, nextSyncs };
        },
      };
    },
    /** Called when a run's record is in the database, however long the run takes. */
    recordBegun: (stream: StreamName) => options.database.recordResponse({ accountId, stream }),
    /** Called when a request failed and will be retried. The account counts as unhealthy until a run ends without an outage. */
    recordRetry: () => notify(false),
    onChange: (listener: (isHealthy: boolean) => void) => void (notify = listener),
    get outage(): Outage | undefined {
      return outage.current;
    },
    get openCircuits(): readonly OpenCircuit[] {
      return breaker.openCircuits;
    },
  };
}

/** Whether the service itself has responded, with success or error. */
function hasResponse(result: RunResult): boolean {
  if (result.requests === 0) return false;
  const error = runFailure(result);
  return error === undefined || (dependencyOf(error) === undefined && error.code !== 'interrupted');
}
