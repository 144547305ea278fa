import { setTimeout as sleep } from 'node:timers/promises';

/** The longest wait a Node.js timer can hold; beyond it would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Rejects with the signal's reason as soon as it is aborted. */
export async function abortableSleep(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (delayMs <= 0) return;
  try {
    // Rounded up: a timer that fires a fraction too early would only be set again.
    await sleep(Math.min(LONGEST_TIMER_MS, Math.ceil(delayMs)), undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
