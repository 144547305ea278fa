/**
 * Keeps a service that refuses our credentials from being asked on and on: lets one run through after a while, then
 * after twice as long, and opens by itself when that one is accepted. A missing permission holds only its own stream;
 * every other refusal holds all.
 */
import type { SafetySyncError } from '../shared/errors.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';

export interface RefusalDelays {
  readonly firstMs: number;
  readonly mostMs: number;
}

export const REFUSAL_DELAYS: RefusalDelays = { firstMs: 15 * MINUTE_MS, mostMs: HOUR_MS };

export interface Refusal {
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

export interface RefusalGate {
  /** Whether a run may ask now. True for the one that tries after a while: tell how it went. */
  admits(stream: StreamName): boolean;
  /** ms until this stream should be fired to try again; undefined when another one does. */
  noteRefused(stream: StreamName, error: SafetySyncError): number | undefined;
  /** The service took the credentials: what was held may go now. */
  noteAccepted(stream: StreamName): 'was_open' | 'opened';
  /** The try never got to ask: it may be repeated. Answers in how many ms, or undefined when it was none. */
  noteUnknown(stream: StreamName): number | undefined;
  readonly refusals: readonly Refusal[];
}

interface Held {
  readonly stream: StreamName;
  readonly error: SafetySyncError;
  readonly sinceMs: number;
  delayMs: number;
  /** On the monotonic clock. */
  nextTryAtMs: number;
  trying: StreamName | undefined;
}

/** How soon a try that did not get as far as asking is repeated. */
const UNKNOWN_AGAIN_MS = MINUTE_MS;
/** Timers may fire a little early. */
const TOLERANCE_MS = 50;

export function createRefusalGate(clock: Clock, delays: RefusalDelays = REFUSAL_DELAYS): RefusalGate {
  const held = new Map<StreamName | 'all', Held>();
  const scopeOf = (stream: StreamName) => (held.has('all') ? 'all' : stream);

  return {
    admits(stream) {
      const hold = held.get(scopeOf(stream));
      if (hold === undefined) return true;
      if (hold.trying !== undefined || clock.monotonicMs() < hold.nextTryAtMs - TOLERANCE_MS) return false;
      hold.trying = stream;
      return true;
    },
    noteRefused(stream, error) {
      const scope = error.code === 'token_permission' ? stream : 'all';
      const before = held.get(scope);
      const nowMs = clock.monotonicMs();
      // Runs of one firing are refused together: only a try makes the wait longer.
      if (before !== undefined && before.trying !== stream) return undefined;
      const delayMs = before === undefined ? delays.firstMs : Math.min(before.delayMs * 2, delays.mostMs);
      held.set(scope, {
        stream,
        error,
        sinceMs: before?.sinceMs ?? clock.now(),
        delayMs,
        nextTryAtMs: nowMs + delayMs,
        trying: undefined,
      });
      return delayMs;
    },
    noteAccepted(stream) {
      const scope = scopeOf(stream);
      const hold = held.get(scope);
      // A run that began before the refusal proves nothing.
      if (hold === undefined || hold.trying !== stream) return 'was_open';
      held.delete(scope);
      return 'opened';
    },
    noteUnknown(stream) {
      const hold = held.get(scopeOf(stream));
      if (hold?.trying !== stream) return undefined;
      hold.trying = undefined;
      const againMs = Math.min(UNKNOWN_AGAIN_MS, delays.firstMs);
      hold.nextTryAtMs = clock.monotonicMs() + againMs;
      return againMs;
    },
    get refusals() {
      const nowMs = clock.monotonicMs();
      return [...held].map(([scope, { stream, error, sinceMs, nextTryAtMs }]) => ({
        stream,
        holdsAll: scope === 'all',
        code: error.code,
        message: error.message,
        advice: error.advice,
        sinceMs,
        nextTryMs: clock.now() + Math.max(0, nextTryAtMs - nowMs),
      }));
    },
  };
}
