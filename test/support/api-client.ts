import { type ApiClient, createApiClient } from '../../src/engine/api/client.ts';
import type { ApiClientOptions } from '../../src/engine/api/requests.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { systemClock } from '../../src/shared/time.ts';

/** A client that waits for milliseconds only. */
export function clientFor(
  { url, token }: Pick<Sandbox, 'url' | 'token'>,
  options: Partial<ApiClientOptions> = {},
): ApiClient {
  return createApiClient({
    baseUrl: url,
    token,
    concurrency: 4,
    requestsPerMinute: undefined,
    requestTimeoutMs: 10_000,
    mostRetries: 0,
    retryMinDelayMs: 1,
    retryMaxDelayMs: 20,
    clock: systemClock,
    random: Math.random,
    userAgent: 'safety-sync/test',
    ...options,
  });
}
