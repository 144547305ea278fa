import { SECOND_MS } from '../shared/time.ts';
import type { Clock } from '../shared/time.ts';

/** An answer that arrives at this rate is healthy, however long it takes altogether. */
const HEALTHY_BYTES_PER_SECOND = 16 * 1024;

/**
 * How long the other side may keep us waiting for one answer. Only time between asking for the next bytes and getting
 * them counts, never the time that our own side takes with them. Altogether: the request's timeout, and more with
 * every byte received; at one stretch: the request's timeout. So a drip of single bytes ends, and so does a silence
 * behind the first gigabyte; a large healthy answer does not.
 */
export interface WaitingBudget {
  /** The allowance, from nothing received to the answer's beginning, is renewed when the body begins. */
  beginBody(): void;
  startWaiting(): void;
  stopWaiting(bytesReceived: number): void;
}

export interface WaitingBudgetOptions {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onExhausted: () => void;
}

export function createWaitingBudget({ timeoutMs, clock, onExhausted }: WaitingBudgetOptions): WaitingBudget {
  let allowedMs = timeoutMs;
  let waitedMs = 0;
  let waitingSinceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    beginBody: () => {
      allowedMs = timeoutMs;
      waitedMs = 0;
    },
    startWaiting: () => {
      waitingSinceMs = clock.monotonicMs();
      timer = setTimeout(onExhausted, Math.max(0, Math.min(timeoutMs, allowedMs - waitedMs)));
    },
    stopWaiting: (bytesReceived) => {
      clearTimeout(timer);
      waitedMs += clock.monotonicMs() - waitingSinceMs;
      allowedMs += (bytesReceived / HEALTHY_BYTES_PER_SECOND) * SECOND_MS;
    },
  };
}
