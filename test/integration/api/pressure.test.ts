import { expect, test } from 'vitest';
import type { ApiClient } from '../../../src/engine/api/client.ts';
import { type RequestMeter, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer } from './protocol-server.ts';

const ask = (client: ApiClient, meter: RequestMeter) =>
  client.page({ method: 'x.list', listKey: 'items', params: {}, meter });

const askMany = (client: ApiClient, count: number, meter: RequestMeter): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, () => ask(client, meter)));

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
  expect(client.pressure).toEqual({ inFlight: 0, waiting: 0 });
});

test('after refusals of requests in flight together, one request goes alone, and all lists are read in the end', async () => {
  const held: (() => void)[] = [];
  /** Requests at the service when another arrived. */
  const underway: number[] = [];
  let open = 0;
  const server = await startProtocolServer((response, _request, ordinal) => {
    underway.push(open);
    open += 1;
    response.once('close', () => (open -= 1));
    if (ordinal > 4) {
      // The fifth, after the block, is held until another one could have come.
      setTimeout(() => respondJson(response, { ok: true, items: [1] }), ordinal === 5 ? 100 : 0);
      return;
    }
    const refusal = { ok: false, error: 'rate_limit_exceeded' };
    held.push(() => respondJson(response, refusal, { 'retry-after': '0.3' }));
    if (held.length === 4) for (const refuse of held) refuse();
  });
  const client = server.client({ concurrency: 4, mostRetries: 1 });
  const meter = createRequestMeter();
  await askMany(client, 8, meter);
  expect(meter).toMatchObject({ requests: 12, retries: 4, throttled: 4 });
  expect(underway.slice(4, 6)).toEqual([0, 0]);
});

test('a request that is refused again after RETRY_ATTEMPTS repetitions fails as rate_limit_exceeded', async () => {
  const server = await startProtocolServer((response) =>
    respondJson(response, { ok: false, error: 'rate_limit_exceeded' }, { 'retry-after': '0.01' }),
  );
  await expect(ask(server.client({ mostRetries: 3 }), createRequestMeter())).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    message: 'The service refused x.list {}: rate_limit_exceeded (after 4 attempts)',
  });
  expect(server.requests).toHaveLength(4);
});
