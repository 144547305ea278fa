import pRetry from 'p-retry';
import { type ErrorCode, SafetySyncError } from '../shared/errors.ts';
import { abortableSleep } from './abortable-sleep.ts';

export interface RetryPolicy {
  /** Repetitions after the first attempt. */
  readonly retries: number;
  /** The most that the first repetition waits; doubled with every further one. */
  readonly minDelayMs: number;
  /** No single wait is longer, also where the other side asks for more. */
  readonly maxDelayMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface FewRetries {
  readonly codes: ReadonlySet<ErrorCode>;
  /** Repetitions while nothing but these comes. */
  readonly retries: number;
}

export interface Retrying<T> {
  readonly policy: RetryPolicy;
  /** Errors that are not worth as many repetitions as the policy allows. */
  readonly fewRetries?: FewRetries | undefined;
  readonly signal: AbortSignal;
  readonly attempt: (attemptNumber: number) => Promise<T>;
  /** Told before each wait; `attemptNumber` is the failed one. */
  readonly onRetry: (attemptNumber: number, delayMs: number, error: SafetySyncError) => void;
  /** A cool-down of all requests that holds the repetition back anyway, in ms. */
  readonly coolingMs: () => number;
}

function canSucceedLater(error: unknown): error is SafetySyncError {
  return error instanceof SafetySyncError && error.recovery === 'retry';
}

/** Full jitter: anything between nothing and the exponential delay, so that many who failed together part. */
export function drawRetryDelayMs(policy: RetryPolicy, attemptNumber: number, retryAfterMs = 0): number {
  const ceiling = Math.min(policy.maxDelayMs, policy.minDelayMs * 2 ** (attemptNumber - 1));
  return Math.max(policy.random() * ceiling, Math.min(retryAfterMs, policy.maxDelayMs));
}

function withAttempts(error: SafetySyncError, attempts: number): SafetySyncError {
  const counted = attempts === 1 ? 'after the only attempt' : `after ${attempts} attempts`;
  return new SafetySyncError(error.code, `${error.message} (${counted})`, {
    cause: error.cause,
    advice: error.advice,
    requestId: error.requestId,
    retryAfterMs: error.retryAfterMs,
  });
}

/** Repeats what can succeed later. Whether it can is said by the error's `recovery`, and by nothing else. */
export async function runRetrying<T>(retrying: Retrying<T>): Promise<T> {
  const { policy, signal, fewRetries } = retrying;
  /** Attempts in a row that ended in one of `fewRetries`. */
  let fewInARow = 0;
  const noteFew = (error: unknown): void => {
    const isOne = error instanceof SafetySyncError && fewRetries?.codes.has(error.code) === true;
    fewInARow = isOne ? fewInARow + 1 : 0;
  };
  const isWorthRepeating = (error: unknown): error is SafetySyncError =>
    canSucceedLater(error) && fewInARow <= (fewRetries?.retries ?? Infinity);
  let attempts = 0;
  try {
    return await pRetry(
      async (attemptNumber) => {
        attempts = attemptNumber;
        try {
          return await retrying.attempt(attemptNumber);
        } catch (error) {
          noteFew(error);
          throw error;
        }
      },
      {
        retries: policy.retries,
        // p-retry's own delays draw from Math.random and are not full jitter: ours is slept in onFailedAttempt.
        factor: 1,
        minTimeout: 0,
        maxTimeout: 0,
        maxRetryTime: Number.POSITIVE_INFINITY,
        randomize: false,
        unref: false,
        signal,
        shouldRetry: ({ error }) => isWorthRepeating(error),
        shouldConsumeRetry: () => true,
        onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
          if (retriesLeft === 0 || !isWorthRepeating(error)) return;
          // A refusal for too many requests has begun a cool-down: its length is the delay, for all alike.
          const delayMs =
            error.code === 'rate_limit_exceeded'
              ? retrying.coolingMs()
              : drawRetryDelayMs(policy, attemptNumber, error.retryAfterMs);
          retrying.onRetry(attemptNumber, delayMs, error);
          await abortableSleep(delayMs, signal);
        },
      },
    );
  } catch (error) {
    throw canSucceedLater(error) ? withAttempts(error, attempts) : error;
  }
}
