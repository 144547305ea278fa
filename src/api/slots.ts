/** Makes requests wait until the limiter lets them start. */
import pLimit from 'p-limit';
import { meetLater } from '../shared/meet-later.ts';
import { sleep } from '../shared/time.ts';
import type { Limiter } from './limiter.ts';

/** The requests that may be in flight as the limiter says: over all streams, first come first served. */
interface Slots {
  readonly inFlight: number;
  readonly waiting: number;
  /**
   * Runs one request when it may start; the ordinal is the limiter's name for it. Rejects with the signal's reason
   * when that is aborted before the start; afterwards the request itself has to end.
   */
  run<T>(request: (ordinal: number) => Promise<T>, signal: AbortSignal): Promise<T>;
}

const COOLING = Symbol('cooling');

/** Settles as `promise` does, but rejects at once when the signal is aborted. */
async function raceSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

export function createSlots(limiter: Limiter): Slots {
  const limit = pLimit(limiter.concurrencyNow);
  let inFlight = 0;
  let waiting = 0;

  /** Returns COOLING instead of waiting for the end of a cool-down: nobody holds a slot through one. */
  const runInSlot = async <T>(
    request: (ordinal: number) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | typeof COOLING> => {
    for (;;) {
      signal.throwIfAborted();
      if (limiter.coolingMs() > 0) return COOLING;
      const pacingMs = limiter.pacingMs();
      if (pacingMs === 0) break;
      await sleep(pacingMs, signal);
    }
    waiting -= 1;
    inFlight += 1;
    try {
      return await request(limiter.recordStart());
    } finally {
      inFlight -= 1;
      waiting += 1;
      limit.concurrency = limiter.concurrencyNow;
    }
  };

  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting;
    },
    run: async (request, signal) => {
      waiting += 1;
      try {
        for (;;) {
          await sleep(limiter.coolingMs(), signal);
          signal.throwIfAborted();
          let started = false;
          const slot = limit(() =>
            runInSlot((ordinal) => {
              started = true;
              return request(ordinal);
            }, signal),
          );
          // A started request ends by itself, with its own error; only the queue is left at once.
          const result = await raceSignal(slot, signal).catch((error: unknown) => {
            if (started) return slot;
            void meetLater(slot);
            throw error;
          });
          if (result !== COOLING) return result;
        }
      } finally {
        waiting -= 1;
      }
    },
  };
}
