/** The formula for delays between attempts, and a loop (p-retry with the same bounds) for work that needs nothing else. */
import pRetry from 'p-retry';

export interface Backoff {
  /** Delay after the first failure. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** Each further failure makes the delay this many times as long; default: 2. */
  readonly factor?: number;
}

/** Draws the delay between `leastMs` and the full one, so that callers that failed together are spread. */
interface Jitter {
  readonly random: () => number;
  /** Default: 0. */
  readonly leastMs?: number;
}

/** Delay after the given number of failures in a row, at least one. Without the third argument it is the full delay, not a random one. */
export function backoff(
  failures: number,
  { firstMs, mostMs, factor = 2 }: Backoff,
  { random, leastMs = 0 }: Jitter = { random: () => 1 },
): number {
  // The exponent is bounded, because 0 ms times infinity is no number.
  const fullMs = Math.min(mostMs, firstMs * factor ** Math.min(failures - 1, 100));
  const floorMs = Math.min(leastMs, fullMs);
  return floorMs + random() * (fullMs - floorMs);
}

interface RetryOptions {
  /** All attempts, the first one included; `RETRY_ATTEMPTS` counts only the retries of a request. */
  readonly mostAttempts: number;
  readonly delays: Backoff;
  /** No attempt begins after an abort. */
  readonly signal?: AbortSignal;
  /** True: further attempts would fail in the same way. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Repeats work that fails; rejects with the error of the last attempt. */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { mostAttempts, delays, signal, isFinal } = options;
  let last: unknown;
  const attempt = async (): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      last = error;
      throw error;
    }
  };
  try {
    return await pRetry(attempt, {
      retries: mostAttempts - 1,
      minTimeout: delays.firstMs,
      maxTimeout: delays.mostMs,
      factor: delays.factor ?? 2,
      randomize: false,
      shouldRetry: ({ error }) => isFinal?.(error) !== true,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw signal?.aborted === true ? (last ?? error) : error;
  }
}
