import { expect, test } from 'vitest';
import type { ApiClient } from '../../../src/engine/api/client.ts';
import { type RequestMeter, type RetryEvent, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer } from './protocol-server.ts';

function askMany(client: ApiClient, count: number, meter: RequestMeter): Promise<unknown> {
  return Promise.all(
    Array.from({ length: count }, () =>
      client.page({ method: 'x.list', listKey: 'items', params: {}, meter }),
    ),
  );
}

test('the number of requests in flight over all callers is at most the concurrency', async () => {
  const held: (() => void)[] = [];
  let most = 0;
  const server = await startProtocolServer((response) => {
    held.push(() => respondJson(response, { ok: true, items: [] }));
    most = Math.max(most, held.length);
    // Three get their response together, after a turn long enough for a fourth.
    if (held.length === 3) setImmediate(() => held.splice(0).forEach((answer) => answer()));
  });
  const client = server.client({ concurrency: 3 });
  await askMany(client, 51, createRequestMeter());
  expect(most).toBe(3);
  expect(client.pressure).toEqual({ inFlight: 0, waiting: 0, concurrencyNow: 3, coolingUntilMs: null });
});

test('throttled responses of requests in flight together cause one cool-down, and all lists are read in the end', async () => {
  const held: (() => void)[] = [];
  const server = await startProtocolServer((response, _request, ordinal) => {
    if (ordinal > 4) {
      respondJson(response, { ok: true, items: [1] });
      return;
    }
    held.push(() => respondJson(response, { ok: false, error: 'rate_limit_exceeded' }));
    if (held.length === 4) for (const refuse of held) refuse();
  });
  const events: RetryEvent[] = [];
  const client = server.client({
    concurrency: 4,
    mostRetries: 1,
    retryMinDelayMs: 20,
    retryMaxDelayMs: 40,
    onRetry: (event) => events.push(event),
  });
  const meter = createRequestMeter();
  const concurrencies: number[] = [];
  await askMany(client, 8, meter).then(() => concurrencies.push(client.pressure.concurrencyNow));
  expect(meter).toMatchObject({ requests: 12, retries: 4, throttled: 4 });
  expect(events).toHaveLength(4);
  expect(concurrencies).toEqual([3]);
});

test('requests per minute are limited over all callers', async () => {
  const arrivals: number[] = [];
  const server = await startProtocolServer((response) => {
    arrivals.push(performance.now());
    respondJson(response, { ok: true, items: [] });
  });
  await askMany(server.client({ requestsPerMinute: 1_200 }), 6, createRequestMeter());
  const took = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  // Five distances of 50 ms; the first request also opens its connection, which may take from the first distance.
  expect(took).toBeGreaterThan(200);
});
