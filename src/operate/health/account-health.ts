/**
 * When an account's service may be asked again, from the results of its runs. A service that refuses the credentials is left
 * alone, except for one run after 15 minutes, then after 30, then every hour. A service that cannot be used is asked at every
 * tick, because it does not tell when it is back.
 */
import { type Backoff, backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { authFailureOf, runFailure, type RunResult } from '../../engine/sync/run.ts';
import { createOutageLog, dependencyOf } from './outage-log.ts';

/** The service refuses the credentials. */
export interface Refusal {
  readonly stream: StreamName;
  /** True: all streams of the account wait; false: the token lacks the permission for this one. */
  readonly holdsAll: boolean;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  /** ms since 1970, by this process's clock. */
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

/** A sync that follows from the result of another run. */
export interface NextSync {
  readonly stream: StreamName;
  /** 0: now. */
  readonly inMs: number;
}

interface Held {
  readonly refusal: Refusal;
  /** Refusals in a row: the first one and those of the trials. */
  readonly count: number;
  /** The newest one. */
  readonly refusedMs: number;
}

const TRIAL_DELAYS: Backoff = { firstMs: 15 * MINUTE_MS, mostMs: HOUR_MS };
/** Delay before the next trial when the last one brought no response. */
const NO_RESPONSE_MS = MINUTE_MS;
/** Tolerance for timers that fire early. */
const TOLERANCE_MS = 50;

interface AccountHealthOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** The scheduled streams. */
  readonly streams: readonly StreamName[];
  /** Whether the credentials have changed since the service refused them. */
  readonly hasNewToken: () => boolean;
}

export function createAccountHealth({ log, clock, streams, hasNewToken }: AccountHealthOptions) {
  const outage = createOutageLog({ dependency: 'service', log, clock });
  /** Streams whose last run failed because of the service. */
  const failing = new Set<StreamName>();
  /** By stream; null: all streams. */
  const held = new Map<StreamName | null, Held>();

  function followOutage(result: RunResult): void {
    const error = runFailure(result);
    if (error !== undefined && dependencyOf(error) === 'service') {
      failing.add(result.stream);
      outage.recordFailure(error, true);
    } else if (failing.delete(result.stream) && failing.size === 0) outage.recordResponse();
  }

  function refuse(key: StreamName | null, stream: StreamName, error: SafetySyncError): NextSync[] {
    const before = held.get(key);
    const count = (before?.count ?? 0) + 1;
    const inMs = backoff(count, TRIAL_DELAYS);
    const refusedMs = clock.now();
    const { code, message, advice } = error;
    const sinceMs = before?.refusal.sinceMs ?? refusedMs;
    const about = { stream, holdsAll: key === null, code, message, advice };
    held.set(key, { refusal: { ...about, sinceMs, nextTryMs: refusedMs + inMs }, count, refusedMs });
    log.error(
      { stream, error_code: code, request_id: error.requestId, next_try_ms: inMs },
      `THE SERVICE REFUSES THE CREDENTIALS (${code}): ${key === null ? 'nothing is' : `${key} is not`} requested; the next try is in ${formatDuration(inMs)}. ${advice}`,
    );
    return [{ stream, inMs }];
  }

  function tryAt(key: StreamName | null, { refusal, ...rest }: Held, nextTryMs: number): void {
    held.set(key, { ...rest, refusal: { ...refusal, nextTryMs } });
  }

  /** What follows from the result of a run that began at this time. */
  function end(result: RunResult, beganMs: number): NextSync[] {
    const { stream } = result;
    followOutage(result);
    // Runs of one tick end together: only those that began after the newest refusal say something new.
    const isNews = (key: StreamName | null): boolean => beganMs > (held.get(key)?.refusedMs ?? -Infinity);
    const error = authFailureOf(result);
    if (error === undefined && !hasResponse(result)) return tryAgain(stream, isNews);
    if (error !== undefined && error.code !== 'token_permission')
      return isNews(null) ? refuse(null, stream, error) : [];
    // Also a token that lacks a permission is a valid one.
    const isAccepted = isNews(null) && held.delete(null);
    if (isAccepted)
      log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
    const others = isAccepted ? streams.filter((one) => one !== stream) : [];
    const next = others.map((one) => ({ stream: one, inMs: 0 }));
    if (!isNews(stream)) return next;
    if (error !== undefined) return [...next, ...refuse(stream, stream, error)];
    if (held.delete(stream)) log.info({ stream }, `the service lets the token read ${stream} again`);
    return next;
  }

  /** After a trial without a response: of the account with another stream, because one may have nothing to request. */
  function tryAgain(stream: StreamName, isNews: (key: StreamName | null) => boolean): NextSync[] {
    const key = held.has(null) ? null : stream;
    const one = held.get(key);
    if (one === undefined || !isNews(key)) return [];
    tryAt(key, one, clock.now() + NO_RESPONSE_MS);
    const another = streams[(streams.indexOf(stream) + 1) % streams.length] ?? stream;
    return [{ stream: key ?? another, inMs: NO_RESPONSE_MS }];
  }

  return {
    /** Returns the function that takes the result of the run; undefined: the stream must not be requested now. */
    admit(stream: StreamName) {
      const beganMs = clock.now();
      const key = held.has(null) ? null : stream;
      const one = held.get(key);
      if (one !== undefined) {
        if (beganMs < one.refusal.nextTryMs - TOLERANCE_MS && !hasNewToken()) return undefined;
        // One run is the trial; the others wait for its result.
        tryAt(key, one, beganMs + TRIAL_DELAYS.mostMs);
      }
      return (result: RunResult) => end(result, beganMs);
    },
    get outage() {
      return outage.current;
    },
    get refusals(): readonly Refusal[] {
      return [...held.values()].map(({ refusal }) => refusal);
    },
  };
}

/** Whether the service itself has responded, with success or error. */
function hasResponse(result: RunResult): boolean {
  if (result.requests === 0) return false;
  const error = runFailure(result);
  return error === undefined || (dependencyOf(error) === undefined && error.code !== 'interrupted');
}
