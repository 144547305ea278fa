/** Makes requests wait until the limiter lets them start. */
import { EventEmitter, once } from 'node:events';
import pLimit from 'p-limit';
import { sleep } from '../../shared/time.ts';
import type { Limiter } from './limiter.ts';

/** Allows as many requests in flight as the limiter, over all streams, first come first served. */
export function createSlots(limiter: Limiter) {
  const queue = pLimit(1);
  const ends = new EventEmitter();
  let inFlight = 0;

  async function start(signal: AbortSignal): Promise<number> {
    for (;;) {
      signal.throwIfAborted();
      const waitMs = Math.max(limiter.coolingMs(), limiter.pacingMs());
      if (waitMs > 0) await sleep(waitMs, signal);
      else if (inFlight >= limiter.concurrencyNow) await once(ends, 'end', { signal }).catch(() => undefined);
      else {
        inFlight += 1;
        return limiter.recordStart();
      }
    }
  }

  return {
    get inFlight(): number {
      return inFlight;
    },
    get waiting(): number {
      return queue.activeCount + queue.pendingCount;
    },
    /**
     * Waits until a request may start, and returns its ordinal, which identifies it for the limiter. Rejects with the
     * reason of an aborted signal; if the signal is aborted while other requests are ahead, only after them.
     */
    enter: (signal: AbortSignal): Promise<number> => queue(() => start(signal)),
    /** The request has ended. */
    leave: (): void => {
      inFlight -= 1;
      ends.emit('end');
    },
  };
}
