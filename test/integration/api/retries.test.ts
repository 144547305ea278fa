import { describe, expect, test } from 'vitest';
import { type RetryEvent, createRequestMeter } from '../../../src/engine/api/requests.ts';
import type { SafetySyncError } from '../../../src/shared/errors.ts';
import { respondJson, startProtocolServer } from './protocol-server.ts';

const REQUEST = { method: 'x.list', listKey: 'items', params: {} };

test('a response that breaks is requested and read again from its beginning', async () => {
  const server = await startProtocolServer((response, _request, ordinal) => {
    if (ordinal < 3)
      response.write(`{"ok":true,"items":[${'1,'.repeat(2_000)}`, () => response.socket?.destroy());
    else respondJson(response, { ok: true, items: [1, 2] }, { 'svc-request-id': 'r3' });
  });
  const meter = createRequestMeter();
  const events: RetryEvent[] = [];
  const client = server.client({ mostRetries: 2, onRetry: (event) => events.push(event) });
  const page = await client.page({ ...REQUEST, meter });
  expect(page.records.map((one) => one.parse())).toEqual([1, 2]);
  expect(meter).toMatchObject({ requests: 3, retries: 2, lastRequestId: 'r3' });
  expect(events.map(({ method, attempt, error }) => [method, attempt, error.code])).toEqual([
    ['x.list', 1, 'response_cut'],
    ['x.list', 2, 'response_cut'],
  ]);
});

test('if all attempts fail, the last error contains the number of attempts', async () => {
  const server = await startProtocolServer((response) =>
    respondJson(response, { ok: false, error: 'server_error' }),
  );
  const meter = createRequestMeter();
  let elapsedMs = 0;
  const clock = { now: () => Date.now(), monotonicMs: () => (elapsedMs += 1000) };
  const error: unknown = await server
    .client({ mostRetries: 3, clock })
    .page({ ...REQUEST, meter })
    .catch((caught: unknown) => caught);
  expect((error as SafetySyncError).repeatedForMs).toBeGreaterThanOrEqual(4_000);
  expect(error).toMatchObject({
    code: 'server_error',
    message: 'The service refused x.list {}: server_error (after 4 attempts)',
  });
  expect(meter).toMatchObject({ requests: 4, retries: 3 });
});

test.each(['token_invalid', 'account_inactive', 'parameter_missing', 'content_not_found', 'something_new'])(
  'a request that fails with %s is sent once',
  async (identifier) => {
    const server = await startProtocolServer((response) =>
      respondJson(response, { ok: false, error: identifier }),
    );
    const request = { ...REQUEST, meter: createRequestMeter() };
    await expect(server.client({ mostRetries: 3 }).page(request)).rejects.toThrow(identifier);
    expect(server.requests).toHaveLength(1);
  },
);

test('after an error that concerns one request only, a request with fewer retries is repeated so many times', async () => {
  const server = await startProtocolServer((response) =>
    respondJson(response, { ok: false, error: 'server_error' }),
  );
  const request = { ...REQUEST, meter: createRequestMeter(), retries: 1 };
  await expect(server.client({ mostRetries: 5 }).page(request)).rejects.toThrow('after 2 attempts');
});

describe('stopping', () => {
  test.each(['the response', 'the rest of the response', 'a retry', 'the end of a block'])(
    'an abort ends the wait for %s at once',
    async (place) => {
      const stop = new AbortController();
      const server = await startProtocolServer((response) => {
        if (place === 'a retry') respondJson(response, { ok: false, error: 'server_error' });
        else if (place === 'the end of a block')
          respondJson(response, { ok: false, error: 'rate_limit_exceeded' });
        else if (place === 'the rest of the response')
          response.write('{"ok":true,"items":[1,', () => stop.abort());
        else stop.abort();
      });
      const client = server.client({
        concurrency: 1,
        mostRetries: 5,
        retryMinDelayMs: 3_600_000,
        retryMaxDelayMs: 3_600_000,
        onRetry: () => stop.abort(),
      });
      const request = { ...REQUEST, meter: createRequestMeter(), signal: stop.signal };
      await expect(client.page(request)).rejects.toMatchObject({
        code: 'interrupted',
        message: 'x.list: stopped before its response',
      });
      await client.close();
      expect(client.pressure).toMatchObject({ inFlight: 0, waiting: 0 });
      expect(server.requests).toHaveLength(1);
    },
  );
});
