/**
 * The one place that knows whether an account's service can be used. Every scheduled run asks it for a permit and gives
 * its result back on that; each change is logged once when it begins and once when it is over. What the status shows,
 * and whether the account's runs may use the slots of others, is read from here.
 *
 * Two things can be wrong. A service that refuses the credentials is not asked: the circuit breaker. A service that cannot
 * be reached, or does not respond as it should, is asked on schedule: the outage.
 */
import { formatDuration } from '../shared/format.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import type { Clock } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import { authFailureOf, failureOf, type RunResult } from '../sync/run.ts';
import {
  type CircuitChange,
  createCircuitBreaker,
  type OpenCircuit,
  type Permit,
  type TrialDelays,
} from './circuit-breaker.ts';
import { createOutageLog, dependencyOf, type Outage, type OutageLog } from './outage-log.ts';

/** A sync of a stream that the result of another run asks for. */
export interface NextSync {
  readonly stream: StreamName;
  /** 0: now. */
  readonly inMs: number;
}

interface RunPermit {
  /** The run has ended. */
  end(
    result: RunResult,
    kind: string,
  ): {
    /** Its failure was logged here, now or when the trouble began. */
    readonly isTold: boolean;
    readonly nextSyncs: readonly NextSync[];
  };
}

export interface AccountHealth {
  /** Undefined: the circuit is open for this stream. */
  admit(stream: StreamName): RunPermit | undefined;
  /** A run of the stream has its record in the database, however long it goes on. */
  recordBegun(stream: StreamName): void;
  /** A request failed and is repeated: until a run has ended without an outage, the account counts as unhealthy. */
  recordRetry(): void;
  onChange(listener: (isHealthy: boolean) => void): void;
  readonly outage: Outage | undefined;
  readonly openCircuits: readonly OpenCircuit[];
}

interface AccountHealthOptions {
  readonly accountId: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** The scheduled ones. */
  readonly streams: readonly StreamName[];
  /** Of the database, which all accounts share. */
  readonly database: OutageLog;
  readonly delays?: TrialDelays | undefined;
  /** Other credentials are there than those that the service refused. */
  readonly hasNewToken?: () => boolean;
}

export function createAccountHealth({
  accountId,
  log,
  clock,
  streams,
  ...options
}: AccountHealthOptions): AccountHealth {
  const breaker = createCircuitBreaker(clock, options.delays);
  const outage = createOutageLog({ dependency: 'service', log, clock });
  let report: (isHealthy: boolean) => void = () => undefined;

  /** True when the failure is part of an outage, which was logged when that began. */
  function followOutages(result: RunResult, kind: string): boolean {
    const { stream } = result;
    const error = failureOf(result);
    const dependency = error === undefined ? undefined : dependencyOf(error);
    const target = { accountId, stream };
    const failedRun = { ...target, kind, isScheduled: streams.includes(stream) };
    if (error !== undefined && dependency === 'database') options.database.recordFailure(error, failedRun);
    else options.database.recordResponse(target);
    if (error !== undefined && dependency === 'service')
      outage.recordFailure(error, { ...failedRun, isScheduled: true });
    if (hasResponse(result)) outage.recordResponse(target);
    else if (error === undefined) outage.recordUnasked(target);
    report(outage.current === undefined);
    return dependency !== undefined;
  }

  function logClosed(stream: StreamName, closed: CircuitChange['closed']): void {
    if (closed === 'stream') log.info({ stream }, `the service lets the token read ${stream} again`);
    if (closed === 'account')
      log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
  }

  function logOpened(
    stream: StreamName,
    error: SafetySyncError,
    { scope, inMs }: NonNullable<CircuitChange['trial']>,
  ): void {
    const what = scope === 'stream' ? `${stream} is not` : 'nothing is';
    log.error(
      { stream, error_code: error.code, request_id: error.requestId, next_try_ms: inMs },
      `THE SERVICE REFUSES THE CREDENTIALS (${error.code}): ${what} asked for; the next try is in ${formatDuration(inMs)}. ${error.advice}`,
    );
  }

  function followNoResponse({ stream, outcome }: RunResult, trial: CircuitChange['trial']): NextSync[] {
    if (trial === null) return [];
    if (trial.scope === 'account') {
      // The next stream may have something to ask where this one had nothing.
      const next = streams[(streams.indexOf(stream) + 1) % streams.length] ?? stream;
      return [{ stream: next, inMs: trial.inMs }];
    }
    // A stream whose own circuit is open and that had nothing to ask waits for its schedule.
    return outcome === 'failed' ? [{ stream, inMs: trial.inMs }] : [];
  }

  function followCircuits(result: RunResult, permit: Permit): NextSync[] {
    const { stream } = result;
    const authFailure = authFailureOf(result);
    if (authFailure === undefined && !hasResponse(result))
      return followNoResponse(result, permit.noResponse().trial);
    const { closed, trial } = authFailure === undefined ? permit.accepted() : permit.authFailed(authFailure);
    logClosed(stream, closed);
    if (authFailure !== undefined && trial !== null) logOpened(stream, authFailure, trial);
    const others = closed === 'account' ? streams.filter((other) => other !== stream) : [];
    return [
      ...others.map((other) => ({ stream: other, inMs: 0 })),
      ...(trial === null ? [] : [{ stream, inMs: trial.inMs }]),
    ];
  }

  return {
    admit(stream) {
      let permit = breaker.admit(stream);
      if (permit === undefined && options.hasNewToken?.() === true) {
        breaker.tryNow();
        permit = breaker.admit(stream);
      }
      if (permit === undefined) {
        // It is not run, so it cannot show that the database is back.
        options.database.recordResponse({ accountId, stream });
        return undefined;
      }
      return {
        end(result, kind) {
          const isOutage = followOutages(result, kind);
          const nextSyncs = followCircuits(result, permit);
          return { isTold: isOutage || authFailureOf(result) !== undefined, nextSyncs };
        },
      };
    },
    recordBegun: (stream) => options.database.recordResponse({ accountId, stream }),
    recordRetry: () => report(false),
    onChange: (listener) => void (report = listener),
    get outage() {
      return outage.current;
    },
    get openCircuits() {
      return breaker.openCircuits;
    },
  };
}

/** The service itself has said something, whatever it was. */
function hasResponse(result: RunResult): boolean {
  if (result.requests === 0) return false;
  const error = failureOf(result);
  return error === undefined || (dependencyOf(error) === undefined && error.code !== 'interrupted');
}
