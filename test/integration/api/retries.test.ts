import { expect, test } from 'vitest';
import { createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer } from './protocol-server.ts';

const REQUEST = { method: 'x.list', listKey: 'items', params: {} };

test('a response that breaks is requested and read again from its beginning', async () => {
  const server = await startProtocolServer((response, _request, ordinal) => {
    if (ordinal < 3)
      response.write(`{"ok":true,"items":[${'1,'.repeat(2_000)}`, () => response.socket?.destroy());
    else respondJson(response, { ok: true, items: [1, 2] }, { 'svc-request-id': 'r3' });
  });
  const meter = createRequestMeter();
  const events: unknown[] = [];
  const client = server.client({
    mostRetries: 2,
    onRetry: ({ method, attempt, error }) => events.push([method, attempt, error.code]),
  });
  const page = await client.page({ ...REQUEST, meter });
  expect(page.records.map((one) => one.parse())).toEqual([1, 2]);
  expect(meter).toMatchObject({ requests: 3, retries: 2, lastRequestId: 'r3' });
  expect(events).toEqual([
    ['x.list', 1, 'response_cut'],
    ['x.list', 2, 'response_cut'],
  ]);
});

test.each([
  ['server_error', 4],
  ['token_invalid', 1],
  ['content_not_found', 1],
  ['something_new', 1],
])('with three retries a request that always fails with %s is sent %i times', async (error, times) => {
  const server = await startProtocolServer((response) =>
    respondJson(response, { ok: false, error }, { 'retry-after': '0.01' }),
  );
  const meter = createRequestMeter();
  const counted = times === 1 ? error : `${error} (after ${times} attempts)`;
  await expect(server.client({ mostRetries: 3 }).page({ ...REQUEST, meter })).rejects.toThrow(counted);
  expect(meter).toMatchObject({ requests: times, retries: times - 1 });
  expect(server.requests).toHaveLength(times);
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
  await Promise.all(Array.from({ length: 8 }, () => client.page({ ...REQUEST, meter })));
  expect(meter).toMatchObject({ requests: 12, retries: 4, throttled: 4 });
  expect(underway.slice(4, 6)).toEqual([0, 0]);
  expect(Math.max(...underway)).toBeLessThan(4);
});

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
    const hour = { retryMinDelayMs: 3_600_000, retryMaxDelayMs: 3_600_000 };
    const client = server.client({ concurrency: 1, mostRetries: 5, ...hour, onRetry: () => stop.abort() });
    await expect(
      client.page({ ...REQUEST, meter: createRequestMeter(), signal: stop.signal }),
    ).rejects.toMatchObject({ code: 'interrupted', message: 'x.list: stopped before its response' });
    expect(server.requests).toHaveLength(1);
  },
);
