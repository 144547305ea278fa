/**
 * Keeps a service that refuses our credentials from being asked on and on: lets one run through after a while, then
 * after twice as long, and opens by itself when that one is accepted. A missing permission holds only its own stream;
 * every other refusal holds all.
 *
 * A run is given a ticket, and its answer is noted on that ticket: an answer says something about a hold only when its
 * run was let through after the refusal that made the hold.
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
  /** All streams are held, not only this one. */
  readonly holdsAll: boolean;
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  /** ms since 1970, by our clock. */
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

/** What an answer changes. */
export interface GateChange {
  /** `all`: every stream was held and may go now; `stream`: only the one that was answered; null: nothing opened. */
  readonly opened: 'all' | 'stream' | null;
  /** What is held from now on, or still; null: this answer made no hold and lengthened none. */
  readonly held: 'all' | 'stream' | null;
  /** ms until somebody should try again; undefined when that is seen to already. */
  readonly againMs: number | undefined;
}

/** Of one run that may ask: exactly one of these is called when it has ended. */
export interface Ticket {
  refused(error: SafetySyncError): GateChange;
  /** The service took the credentials. */
  accepted(): GateChange;
  /** The run ended without an answer of the service: nothing is known. */
  unanswered(): GateChange;
}

export interface CircuitBreaker {
  /** A ticket when a run may ask now; undefined while its stream is held. */
  admit(stream: StreamName): Ticket | undefined;
  readonly openCircuits: readonly OpenCircuit[];
}

interface Held {
  readonly stream: StreamName;
  readonly error: SafetySyncError;
  readonly sinceMs: number;
  readonly delayMs: number;
  /** Tickets with a higher number were given after this refusal. */
  readonly refusedAt: number;
  /** On the monotonic clock; while a run tries, when it is not waited for any longer. */
  nextTryAtMs: number;
  isTrying: boolean;
}

type Scope = StreamName | 'all';

const NOTHING: GateChange = { opened: null, held: null, againMs: undefined };
/** How soon a try that brought no answer is followed by another one. */
const UNANSWERED_AGAIN_MS = MINUTE_MS;
/** Timers may fire a little early. */
const TOLERANCE_MS = 50;

export function createCircuitBreaker(clock: Clock, delays: TrialDelays = TRIAL_DELAYS): CircuitBreaker {
  const holds = new Map<Scope, Held>();
  /** Counts tickets and refusals, so that they have an order. */
  let count = 0;

  function open(scope: Scope): void {
    holds.delete(scope);
  }

  /** Undefined when the hold is there already and this run was let through before it. */
  function hold(
    scope: Scope,
    { stream, error, number }: { stream: StreamName; error: SafetySyncError; number: number },
  ): number | undefined {
    const before = holds.get(scope);
    // Runs of one firing are refused together: only a try makes the wait longer.
    if (before !== undefined && number < before.refusedAt) return undefined;
    const delayMs = before === undefined ? delays.firstMs : Math.min(before.delayMs * 2, delays.mostMs);
    count += 1;
    holds.set(scope, {
      stream,
      error,
      sinceMs: before?.sinceMs ?? clock.now(),
      delayMs,
      refusedAt: count,
      nextTryAtMs: clock.monotonicMs() + delayMs,
      isTrying: false,
    });
    return delayMs;
  }

  function createTicket(stream: StreamName, gatedBy: Held | undefined): Ticket {
    count += 1;
    const number = count;
    const isTryOf = (scope: Scope): boolean => number > (holds.get(scope)?.refusedAt ?? Infinity);

    /** The next try of the hold that let this run through; undefined when the hold has changed since. */
    function endTry(inMs: number): number | undefined {
      if (gatedBy === undefined || ![...holds.values()].includes(gatedBy)) return undefined;
      gatedBy.isTrying = false;
      gatedBy.nextTryAtMs = clock.monotonicMs() + inMs;
      return inMs;
    }

    return {
      refused(error) {
        if (error.code === 'token_permission') {
          // Whoever is told what its token may not do has a token that is taken.
          const isTaken = isTryOf('all');
          if (isTaken) open('all');
          const againMs = hold(stream, { stream, error, number });
          return {
            opened: isTaken ? 'all' : null,
            held: againMs === undefined ? null : 'stream',
            againMs,
          };
        }
        const againMs = hold('all', { stream, error, number });
        // A try of the stream alone: it goes again as soon as all may go.
        endTry(0);
        return { opened: null, held: againMs === undefined ? null : 'all', againMs };
      },
      accepted() {
        const opened = isTryOf('all') ? 'all' : isTryOf(stream) ? 'stream' : null;
        if (isTryOf('all')) open('all');
        if (isTryOf(stream)) open(stream);
        return { ...NOTHING, opened };
      },
      unanswered() {
        const againMs = endTry(Math.min(UNANSWERED_AGAIN_MS, delays.firstMs));
        if (againMs === undefined) return NOTHING;
        return { opened: null, held: holds.get('all') === gatedBy ? 'all' : 'stream', againMs };
      },
    };
  }

  return {
    admit(stream) {
      const gatedBy = holds.get('all') ?? holds.get(stream);
      if (gatedBy !== undefined) {
        const nowMs = clock.monotonicMs();
        if (nowMs < gatedBy.nextTryAtMs - TOLERANCE_MS) return undefined;
        // A try that hangs is not waited for for ever.
        gatedBy.nextTryAtMs = nowMs + delays.mostMs;
        gatedBy.isTrying = true;
      }
      return createTicket(stream, gatedBy);
    },
    get openCircuits() {
      const nowMs = clock.monotonicMs();
      return [...holds].map(([scope, { stream, error, sinceMs, nextTryAtMs, isTrying }]) => ({
        stream,
        holdsAll: scope === 'all',
        code: error.code,
        message: error.message,
        advice: error.advice,
        sinceMs,
        nextTryMs: clock.now() + (isTrying ? 0 : Math.max(0, nextTryAtMs - nowMs)),
      }));
    },
  };
}
