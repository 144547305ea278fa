/** Repeats a request that failed, as long as its error can go away by itself. */
import pRetry from 'p-retry';
import { SafetySyncError } from '../shared/errors.ts';
import { type Clock, sleep } from '../shared/time.ts';
import type { ApiClientOptions, FewRetries } from './requests.ts';

type RetryPolicy = Pick<ApiClientOptions, 'retryAttempts' | 'retryMinDelayMs' | 'retryMaxDelayMs' | 'random'>;

interface Retrying<T> {
  readonly policy: RetryPolicy;
  readonly fewRetries: FewRetries | undefined;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly attempt: (attemptNumber: number) => Promise<T>;
  /** Told before each wait; `attemptNumber` is the failed one. */
  readonly onRetry: (attemptNumber: number, delayMs: number, error: SafetySyncError) => void;
  /** A cool-down of all requests that holds the retry back anyway, in ms. */
  readonly coolingMs: () => number;
}

function canSucceedLater(error: unknown): error is SafetySyncError {
  return error instanceof SafetySyncError && error.recovery === 'retry';
}

/** Full jitter: anything between nothing and the exponential delay, so that many who failed together part. */
export function drawRetryDelayMs(policy: RetryPolicy, attemptNumber: number, retryAfterMs = 0): number {
  const ceiling = Math.min(policy.retryMaxDelayMs, policy.retryMinDelayMs * 2 ** (attemptNumber - 1));
  return Math.max(policy.random() * ceiling, Math.min(retryAfterMs, policy.retryMaxDelayMs));
}

function withAttempts(error: SafetySyncError, attempts: number, repeatedForMs: number): SafetySyncError {
  const counted = attempts === 1 ? 'after the only attempt' : `after ${attempts} attempts`;
  return new SafetySyncError(error.code, `${error.message} (${counted})`, {
    cause: error.cause,
    advice: error.advice,
    requestId: error.requestId,
    retryAfterMs: error.retryAfterMs,
    repeatedForMs,
  });
}

/**
 * Repeats what can succeed later. Whether it can is said by the error's `recovery`, and by nothing else.
 *
 * p-retry counts the attempts, ends them by the signal and hands on the last error. Its delays are switched off, because
 * they are no full jitter and know neither Retry-After nor the cool-down that all requests share: ours are slept in
 * `onFailedAttempt`, which it awaits.
 */
export async function runRetrying<T>(retrying: Retrying<T>): Promise<T> {
  const { policy, signal, fewRetries } = retrying;
  let attempts = 0;
  let failedMs: number | undefined;
  /** Attempts in a row that ended in one of `fewRetries`. */
  let fewInARow = 0;
  const attempt = async (attemptNumber: number): Promise<T> => {
    attempts = attemptNumber;
    try {
      return await retrying.attempt(attemptNumber);
    } catch (error) {
      const isOne = error instanceof SafetySyncError && fewRetries?.codes.has(error.code) === true;
      fewInARow = isOne ? fewInARow + 1 : 0;
      failedMs ??= retrying.clock.monotonicMs();
      throw error;
    }
  };
  const isWorthRepeating = (error: unknown): error is SafetySyncError =>
    canSucceedLater(error) && fewInARow <= (fewRetries?.retries ?? Infinity);
  try {
    return await pRetry(attempt, {
      retries: policy.retryAttempts,
      minTimeout: 0,
      maxTimeout: 0,
      signal,
      shouldRetry: ({ error }) => isWorthRepeating(error),
      onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
        if (retriesLeft === 0 || !isWorthRepeating(error)) return;
        // A throttled response has begun a cool-down: its length is the delay, for all alike.
        const delayMs =
          error.code === 'rate_limit_exceeded'
            ? retrying.coolingMs()
            : drawRetryDelayMs(policy, attemptNumber, error.retryAfterMs);
        retrying.onRetry(attemptNumber, delayMs, error);
        await sleep(delayMs, signal);
        signal.throwIfAborted();
      },
    });
  } catch (error) {
    if (!canSucceedLater(error)) throw error;
    const nowMs = retrying.clock.monotonicMs();
    throw withAttempts(error, attempts, nowMs - (failedMs ?? nowMs));
  }
}
