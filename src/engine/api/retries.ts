/** What the requests of an account wait for: the newest failed attempt of each method, until a request of it succeeds. */
import type { RetryEvent } from './requests.ts';
import type { Clock } from '../../shared/time.ts';

export interface Retry {
  readonly method: string;
  readonly code: string;
  /** For example `connection refused`. */
  readonly reason: string;
  /** The attempt that failed, and the most of them. */
  readonly attempt: number;
  readonly attempts: number;
  /** ms since 1970, by this process's clock: the first failure since a success, and the next attempt. */
  readonly sinceMs: number;
  readonly nextMs: number;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  EHOSTUNREACH: 'host unreachable',
  request_timeout: 'no response in time',
};

function reasonOf({ code, cause }: RetryEvent['error']): string {
  const system = (cause as { readonly code?: unknown } | undefined)?.code;
  return REASONS[typeof system === 'string' ? system : code] ?? REASONS[code] ?? code;
}

interface FailedAttempt extends RetryEvent {
  /** Most attempts, and the time until the next one. */
  readonly attempts: number;
  readonly delayMs: number;
}

export function createRetries(clock: Pick<Clock, 'now'>) {
  const failing = new Map<string, Retry>();
  return {
    record({ method, attempt, attempts, delayMs, error }: FailedAttempt) {
      const nowMs = clock.now();
      failing.set(method, {
        method,
        code: error.code,
        reason: reasonOf(error),
        attempt,
        attempts,
        sinceMs: failing.get(method)?.sinceMs ?? nowMs,
        nextMs: nowMs + delayMs,
      });
    },
    recordSuccess: (method: string) => void failing.delete(method),
    get current(): readonly Retry[] {
      return [...failing.values()];
    },
  };
}
