/** Makes requests wait until the limiter lets them start. */
import { sleep } from '../../shared/time.ts';
import type { Limiter } from './limiter.ts';

/** Allows as many requests in flight as the limiter, over all streams, first come first served. */
interface Slots {
  readonly inFlight: number;
  readonly waiting: number;
  /**
   * Runs one request when it may start; the ordinal identifies it for the limiter. Rejects with the signal's reason when that
   * is aborted before the start; afterwards the request itself has to end.
   */
  run<T>(request: (ordinal: number) => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createSlots(limiter: Limiter): Slots {
  const queue: (() => void)[] = [];
  let taken = 0;
  let inFlight = 0;
  /** Requests in flight and waiting. */
  let requests = 0;

  function admit(): void {
    while (taken < limiter.concurrencyNow && queue.length > 0) {
      taken += 1;
      queue.shift()?.();
    }
  }

  const takeSlot = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        queue.splice(queue.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(enter);
      admit();
    });

  /** Starts a request when the spacing allows it; undefined: a cool-down has begun. */
  async function start(signal: AbortSignal): Promise<number | undefined> {
    while (limiter.coolingMs() === 0) {
      const pacingMs = limiter.pacingMs();
      if (pacingMs === 0) return limiter.recordStart();
      await sleep(pacingMs, signal);
      signal.throwIfAborted();
    }
    return undefined;
  }

  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return requests - inFlight;
    },
    run: async (request, signal) => {
      requests += 1;
      try {
        for (;;) {
          await sleep(limiter.coolingMs(), signal);
          signal.throwIfAborted();
          await takeSlot(signal);
          try {
            // No request holds a slot through a cool-down.
            const ordinal = await start(signal);
            if (ordinal === undefined) continue;
            inFlight += 1;
            try {
              return await request(ordinal);
            } finally {
              inFlight -= 1;
            }
          } finally {
            taken -= 1;
            admit();
          }
        }
      } finally {
        requests -= 1;
      }
    },
  };
}
