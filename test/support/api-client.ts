import { type ApiClient, createApiClient } from '../../src/engine/api/client.ts';
import {
  createMemoryStore,
  createRequestBudget,
  type RequestBudget,
} from '../../src/engine/api/request-budget.ts';
import type { ApiClientOptions } from '../../src/engine/api/requests.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { systemClock } from '../../src/shared/time.ts';

/** A budget without a rate, whose blocks only this client knows; without a Retry-After they last for milliseconds. */
function createTestBudget(): RequestBudget {
  const budget = createRequestBudget({
    store: createMemoryStore(systemClock),
    rate: null,
    clock: systemClock,
    random: () => 0.5,
  });
  return {
    ...budget,
    recordEnd: (start, end, retryAfterMs = 5) => budget.recordEnd(start, end, retryAfterMs),
  };
}

/** A client that waits for milliseconds only. */
export function clientFor(
  { url, token }: Pick<Sandbox, 'url' | 'token'>,
  options: Partial<ApiClientOptions> = {},
): ApiClient {
  return createApiClient({
    baseUrl: url,
    token,
    concurrency: 4,
    budget: createTestBudget(),
    requestTimeoutMs: 10_000,
    mostRetries: 0,
    retryMinDelayMs: 1,
    retryMaxDelayMs: 20,
    clock: systemClock,
    userAgent: 'safety-sync/test',
    ...options,
  });
}
