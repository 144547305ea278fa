/** The only formula for delays between attempts, and a loop for work that only needs such delays. */
import { sleep } from './time.ts';

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
  readonly leastMs?: number;
}

/** Delay after the given number of failures in a row, at least one. */
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

interface Retrying {
  readonly attempts: number;
  readonly delays: Backoff;
  /** No attempt begins after an abort. */
  readonly signal?: AbortSignal;
  /** True: further attempts would fail in the same way. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Repeats work that fails; rejects with the error of the last attempt. */
export async function retrying<T>(work: () => Promise<T>, options: Retrying): Promise<T> {
  const { attempts, delays, signal, isFinal } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (failures === attempts || isFinal?.(error) === true) throw error;
      await sleep(backoff(failures, delays), signal);
      if (signal?.aborted === true) throw error;
    }
  }
}
