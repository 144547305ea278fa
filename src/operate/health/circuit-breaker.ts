/**
 * Holds requests back while the service refuses the credentials. An auth failure opens the circuit. A trial run is admitted
 * (half-open) after 15 minutes, then after 30, then every hour; a successful trial closes the circuit. A missing permission
 * opens the circuit of its stream, any other auth failure that of the account.
 *
 * Each run gets a permit and returns its outcome to it. An outcome affects a circuit only if the permit was given after the
 * failure that opened it.
 */
import { type Backoff, backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';

export const TRIAL_DELAYS: Backoff = { firstMs: 15 * MINUTE_MS, mostMs: HOUR_MS };

export interface OpenCircuit {
  readonly stream: StreamName;
  /** True: all streams of the account are held; false: this stream only. */
  readonly holdsAll: boolean;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  /** ms since 1970, by this process's clock. */
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

type BreakerScope = 'account' | 'stream';

/** The effect of a run's outcome on the circuits. */
export interface CircuitChange {
  /** The closed circuit; null: none. With `account`, circuits of streams may remain open. */
  readonly closed: BreakerScope | null;
  /** When to try an open circuit again; null: no circuit is open, or a trial is already scheduled. */
  readonly trial: { readonly scope: BreakerScope; readonly inMs: number } | null;
}

interface Circuit {
  readonly stream: StreamName;
  readonly error: SafetySyncError;
  readonly sinceMs: number;
  /** Number of consecutive failures: the first one and the failed trials. */
  readonly failures: number;
  /** Permits with a higher number were given after the newest failure. */
  readonly openedAt: number;
  /** By the monotonic clock; while half-open, the timeout of the trial. */
  trialAtMs: number;
  isHalfOpen: boolean;
}

/** Delay before the next trial when the last one brought no response. */
const NO_RESPONSE_AGAIN_MS = MINUTE_MS;
/** Tolerance for timers that fire early. */
const TOLERANCE_MS = 50;

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** Given to one run; exactly one method is called when it has ended. */
export type Permit = NonNullable<ReturnType<CircuitBreaker['admit']>>;

export function createCircuitBreaker(clock: Clock, delays: Backoff = TRIAL_DELAYS) {
  /** By stream; null: the circuit of the account. */
  const circuits = new Map<StreamName | null, Circuit>();
  /** Numbers permits and auth failures in order of time. */
  let count = 0;

  function createPermit(stream: StreamName, trialOf: Circuit | undefined) {
    count += 1;
    const number = count;
    const isTrialOf = (key: StreamName | null): boolean => number > (circuits.get(key)?.openedAt ?? Infinity);

    function close(key: StreamName | null): boolean {
      return isTrialOf(key) && circuits.delete(key);
    }

    function open(scope: BreakerScope, error: SafetySyncError): CircuitChange['trial'] {
      const key = scope === 'account' ? null : stream;
      const before = circuits.get(key);
      // Runs of one tick fail together, so only a trial makes the delay longer.
      if (before !== undefined && number < before.openedAt) return null;
      const failures = (before?.failures ?? 0) + 1;
      const delayMs = backoff(failures, delays);
      count += 1;
      circuits.set(key, {
        stream,
        error,
        sinceMs: before?.sinceMs ?? clock.now(),
        failures,
        openedAt: count,
        trialAtMs: clock.monotonicMs() + delayMs,
        isHalfOpen: false,
      });
      return { scope, inMs: delayMs };
    }

    /**
     * Schedules the next trial of the circuit that admitted this run; null when that circuit has closed or was opened again.
     */
    function tryAgain(inMs: number): CircuitChange['trial'] {
      if (trialOf === undefined || ![...circuits.values()].includes(trialOf)) return null;
      trialOf.isHalfOpen = false;
      trialOf.trialAtMs = clock.monotonicMs() + inMs;
      return { scope: circuits.get(null) === trialOf ? 'account' : 'stream', inMs };
    }

    return {
      authFailed(error: SafetySyncError): CircuitChange {
        if (error.code === 'token_permission') {
          // A token that lacks a permission is a valid token, so the account's circuit closes.
          const closed = close(null) ? 'account' : null;
          return { closed, trial: open('stream', error) };
        }
        const trial = open('account', error);
        // If this was a trial of the stream alone, the stream is tried again once the account's circuit closes.
        tryAgain(0);
        return { closed: null, trial };
      },
      /** The service accepted the credentials. */
      accepted(): CircuitChange {
        const [isAccount, isStream] = [close(null), close(stream)];
        return { closed: isAccount ? 'account' : isStream ? 'stream' : null, trial: null };
      },
      /** The run ended without a response from the service. */
      noResponse: (): CircuitChange['trial'] => tryAgain(Math.min(NO_RESPONSE_AGAIN_MS, delays.firstMs)),
    };
  }

  return {
    /** Returns a permit, or undefined while a circuit is open for the stream. */
    admit(stream: StreamName) {
      const circuit = circuits.get(null) ?? circuits.get(stream);
      if (circuit !== undefined) {
        const nowMs = clock.monotonicMs();
        if (nowMs < circuit.trialAtMs - TOLERANCE_MS) return undefined;
        // Timeout of a trial that hangs.
        circuit.trialAtMs = nowMs + delays.mostMs;
        circuit.isHalfOpen = true;
      }
      return createPermit(stream, circuit);
    },
    /** Admits the next run as a trial, because the credentials have changed. */
    tryNow() {
      for (const circuit of circuits.values())
        if (!circuit.isHalfOpen) circuit.trialAtMs = clock.monotonicMs();
    },
    get openCircuits(): OpenCircuit[] {
      const nowMs = clock.monotonicMs();
      return [...circuits].map(([key, { stream, error, sinceMs, trialAtMs, isHalfOpen }]) => ({
        stream,
        holdsAll: key === null,
        code: error.code,
        message: error.message,
        advice: error.advice,
        sinceMs,
        nextTryMs: clock.now() + (isHalfOpen ? 0 : Math.max(0, trialAtMs - nowMs)),
      }));
    },
  };
}
