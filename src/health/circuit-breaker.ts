/**
 * Keeps a service from being asked on and on while it refuses the credentials. An auth failure opens the circuit: nothing
 * is asked until one trial run may go (half-open), after 15 minutes, then 30, then every hour; a trial that is accepted
 * closes it. A missing permission opens the circuit of its own stream; every other auth failure that of the account.
 *
 * A run is given a permit, and its outcome counts on that permit: it says something about a circuit only when the permit
 * was given after the failure that opened it.
 */
import type { SafetySyncError } from '../shared/errors.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';

export interface TrialDelays {
  readonly firstMs: number;
  readonly mostMs: number;
}

export const TRIAL_DELAYS: TrialDelays = { firstMs: 15 * MINUTE_MS, mostMs: HOUR_MS };

export interface OpenCircuit {
  readonly stream: StreamName;
  /** Nothing of the account is asked; else only this stream is not. */
  readonly holdsAll: boolean;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  /** ms since 1970, by our clock. */
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

type Scope = 'account' | 'stream';

/** What the outcome of a run changes. */
export interface CircuitChange {
  /** `account` also where circuits of streams stay open; null: none was closed. */
  readonly closed: Scope | null;
  /** When a circuit that is open should be tried; null: none is, or its trial is seen to already. */
  readonly trial: { readonly scope: Scope; readonly inMs: number } | null;
}

/** Of one run that may ask: exactly one of these is called when it has ended. */
export interface Permit {
  authFailed(error: SafetySyncError): CircuitChange;
  /** The service took the credentials. */
  accepted(): CircuitChange;
  /** The run ended without a response of the service. */
  noResponse(): CircuitChange;
}

export interface CircuitBreaker {
  /** A permit when a run may ask now; undefined while a circuit is open for its stream. */
  admit(stream: StreamName): Permit | undefined;
  /** The credentials are others than those that were refused: the next run is the trial. */
  tryNow(): void;
  readonly openCircuits: readonly OpenCircuit[];
}

interface Circuit {
  readonly stream: StreamName;
  readonly error: SafetySyncError;
  readonly sinceMs: number;
  readonly delayMs: number;
  /** Permits with a higher number were given after the newest failure. */
  readonly openedAt: number;
  /** On the monotonic clock; while half-open, when the trial is given up. */
  trialAtMs: number;
  isHalfOpen: boolean;
}

/** How soon a trial that brought no response is followed by another one. */
const NO_RESPONSE_AGAIN_MS = MINUTE_MS;
/** Timers may fire a little early. */
const TOLERANCE_MS = 50;

export function createCircuitBreaker(clock: Clock, delays: TrialDelays = TRIAL_DELAYS): CircuitBreaker {
  /** By stream; null: that of the account. */
  const circuits = new Map<StreamName | null, Circuit>();
  /** Numbers permits and auth failures in their order. */
  let count = 0;

  function createPermit(stream: StreamName, trialOf: Circuit | undefined): Permit {
    count += 1;
    const number = count;
    const isTrialOf = (key: StreamName | null): boolean => number > (circuits.get(key)?.openedAt ?? Infinity);

    function close(key: StreamName | null): boolean {
      return isTrialOf(key) && circuits.delete(key);
    }

    function open(scope: Scope, error: SafetySyncError): CircuitChange['trial'] {
      const key = scope === 'account' ? null : stream;
      const before = circuits.get(key);
      // Runs of one tick fail together: only a trial makes the wait longer.
      if (before !== undefined && number < before.openedAt) return null;
      const delayMs = before === undefined ? delays.firstMs : Math.min(before.delayMs * 2, delays.mostMs);
      count += 1;
      circuits.set(key, {
        stream,
        error,
        sinceMs: before?.sinceMs ?? clock.now(),
        delayMs,
        openedAt: count,
        trialAtMs: clock.monotonicMs() + delayMs,
        isHalfOpen: false,
      });
      return { scope, inMs: delayMs };
    }

    /** The next trial of the circuit that let this run through; null when that has closed or was opened anew. */
    function tryAgain(inMs: number): CircuitChange['trial'] {
      if (trialOf === undefined || ![...circuits.values()].includes(trialOf)) return null;
      trialOf.isHalfOpen = false;
      trialOf.trialAtMs = clock.monotonicMs() + inMs;
      return { scope: circuits.get(null) === trialOf ? 'account' : 'stream', inMs };
    }

    return {
      authFailed(error) {
        if (error.code === 'token_permission') {
          // A token that is told what it may not do is a valid one.
          const closed = close(null) ? 'account' : null;
          return { closed, trial: open('stream', error) };
        }
        const trial = open('account', error);
        // A trial of the stream alone: it goes again as soon as all may go.
        tryAgain(0);
        return { closed: null, trial };
      },
      accepted() {
        const [isAccount, isStream] = [close(null), close(stream)];
        return { closed: isAccount ? 'account' : isStream ? 'stream' : null, trial: null };
      },
      noResponse: () => ({
        closed: null,
        trial: tryAgain(Math.min(NO_RESPONSE_AGAIN_MS, delays.firstMs)),
      }),
    };
  }

  return {
    admit(stream) {
      const circuit = circuits.get(null) ?? circuits.get(stream);
      if (circuit !== undefined) {
        const nowMs = clock.monotonicMs();
        if (nowMs < circuit.trialAtMs - TOLERANCE_MS) return undefined;
        // A trial that hangs is not waited for longer than this.
        circuit.trialAtMs = nowMs + delays.mostMs;
        circuit.isHalfOpen = true;
      }
      return createPermit(stream, circuit);
    },
    tryNow() {
      for (const circuit of circuits.values())
        if (!circuit.isHalfOpen) circuit.trialAtMs = clock.monotonicMs();
    },
    get openCircuits() {
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
