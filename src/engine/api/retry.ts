/** Repeats a request after a temporary error. */
import { backoff } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { sleep } from '../../shared/time.ts';
import type { Limiter } from './limiter.ts';
import { isRequestSpecific } from './response-errors.ts';
import type { ListEvents, ApiClientOptions, ApiRequest } from './requests.ts';

type RetryPolicy = Pick<ApiClientOptions, 'mostRetries' | 'retryMinDelayMs' | 'retryMaxDelayMs' | 'random'>;

interface RetryRequest {
  readonly options: ApiClientOptions;
  readonly limiter: Pick<Limiter, 'coolingMs'>;
  readonly request: ApiRequest;
  readonly signal: AbortSignal;
  readonly attempt: (attemptNumber: number) => ListEvents;
}

export function drawRetryDelayMs(policy: RetryPolicy, attemptNumber: number, retryAfterMs = 0): number {
  const { retryMinDelayMs: firstMs, retryMaxDelayMs: mostMs } = policy;
  return Math.max(backoff(attemptNumber, { firstMs, mostMs }, policy), Math.min(retryAfterMs, mostMs));
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

/** Only the error's `recovery` decides whether a request is repeated. Rejects with the signal's reason when it is aborted. */
export async function* retry({ options, limiter, request, signal, attempt }: RetryRequest): ListEvents {
  const { method, mostRetriesInARow = Infinity } = request;
  const { clock } = options;
  let failedMs: number | undefined;
  /** Attempts in a row that failed for this request only. */
  let inARow = 0;
  for (let attemptNumber = 1; ; attemptNumber += 1) {
    try {
      signal.throwIfAborted();
      return yield* attempt(attemptNumber);
    } catch (error) {
      if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') throw error;
      failedMs ??= clock.monotonicMs();
      inARow = isRequestSpecific(error) ? inARow + 1 : 0;
      if (attemptNumber > options.mostRetries || inARow > mostRetriesInARow) {
        throw withAttempts(error, attemptNumber, clock.monotonicMs() - failedMs);
      }
      // A throttled response has begun a cool-down of all requests: its length is the delay.
      const delayMs =
        error.code === 'rate_limit_exceeded'
          ? limiter.coolingMs()
          : drawRetryDelayMs(options, attemptNumber, error.retryAfterMs);
      options.onRetry?.({ method, attempt: attemptNumber, delayMs, error });
      await sleep(delayMs, signal);
    }
  }
}
