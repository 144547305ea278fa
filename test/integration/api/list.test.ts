import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { ApiClient } from '../../../src/engine/api/client.ts';
import { type ListEvent, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer } from './protocol-server.ts';

const REQUEST = { method: 'x.list', listKey: 'items', params: {} };
const BEGINNING = `{"ok":true,"items":[${'1,'.repeat(1_000)}`;

const toPlain = (event: ListEvent) =>
  event.kind === 'records' ? { ...event, records: event.records.map((one) => one.parse()) } : event;

async function takeAll(client: ApiClient) {
  const events: unknown[] = [];
  const list = client.list({ ...REQUEST, meter: createRequestMeter() });
  for (;;) {
    const next = await list.next();
    if (next.done === true) return { events, count: next.value.count };
    events.push(toPlain(next.value));
  }
}

test('a list is yielded in batches of at least 500 records, and its response is returned at the end', async () => {
  const items = Array.from({ length: 2_400 }, (_, id) => ({ id, text: 'x'.repeat(100) }));
  const server = await startProtocolServer((response) => respondJson(response, { ok: true, items }));
  const { events, count } = await takeAll(server.client());
  expect(count).toBe(2_400);
  const batches = events.map((event) => (event as { records: unknown[] }).records);
  expect(batches.flat()).toEqual(items);
  expect(batches.length).toBeGreaterThan(1);
  expect(Math.min(...batches.slice(0, -1).map(({ length }) => length))).toBeGreaterThanOrEqual(500);
});

test('if a response breaks in the middle, a restart and the whole list follow', async () => {
  const server = await startProtocolServer((response, _request, ordinal) => {
    if (ordinal === 1) response.write(BEGINNING, () => response.socket?.destroy());
    else respondJson(response, { ok: true, items: [7, 8] });
  });
  const { events, count } = await takeAll(server.client({ mostRetries: 1 }));
  expect(count).toBe(2);
  expect(events.map((event) => (event as ListEvent).kind)).toEqual(['records', 'restart', 'records']);
  expect(events.at(-1)).toEqual({ kind: 'records', records: [7, 8] });
});

test('if an empty response follows a broken one, no record of the broken one remains', async () => {
  const server = await startProtocolServer((response, _request, ordinal) => {
    if (ordinal === 1) response.write(BEGINNING, () => response.socket?.destroy());
    else respondJson(response, { ok: true, items: [] });
  });
  const { events } = await takeAll(server.client({ mostRetries: 1 }));
  expect(events.at(-1)).toEqual({ kind: 'restart' });
  const page = await server.client().page({ ...REQUEST, meter: createRequestMeter() });
  expect(page).toMatchObject({ records: [], count: 0 });
});

describe('a list that is left early', () => {
  test.each(['break', 'throw'])(
    'a list that is left early by %s is not in flight any more and releases its connection',
    async (way) => {
      const closed: Promise<unknown>[] = [];
      const server = await startProtocolServer((response, _request, ordinal) => {
        if (ordinal > 1) {
          respondJson(response, { ok: true, items: [1] });
          return;
        }
        closed.push(once(response, 'close'));
        response.write(BEGINNING);
      });
      const client = server.client({ concurrency: 1, mostRetries: 3 });
      const failure = new TypeError('fetch failed');
      const leave = async (): Promise<void> => {
        for await (const { kind } of client.list({ ...REQUEST, meter: createRequestMeter() })) {
          expect(kind).toBe('records');
          if (way === 'throw') throw failure;
          break;
        }
      };
      if (way === 'throw') await expect(leave()).rejects.toBe(failure);
      else await leave();
      expect(client.pressure).toMatchObject({ inFlight: 0, waiting: 0 });
      await Promise.all(closed);
      expect((await takeAll(client)).count).toBe(1);
      expect(server.requests).toHaveLength(2);
    },
  );

  test('a list that was never begun sends no request', async () => {
    const server = await startProtocolServer((response) => respondJson(response, { ok: true, items: [1] }));
    const client = server.client();
    await client.list({ ...REQUEST, meter: createRequestMeter() }).return(undefined as never);
    expect(server.requests).toHaveLength(0);
  });
});

test('if the consumer pauses, the response pauses after little more than the next batch', async () => {
  const record = JSON.stringify({ text: 'x'.repeat(1_000) });
  const writeSlowly = async (response: ServerResponse): Promise<void> => {
    response.write('{"ok":true,"items":[');
    for (let block = 0; block < 200 && !response.destroyed; block += 1) {
      if (!response.write(`${record},`.repeat(100))) await once(response, 'drain').catch(() => undefined);
    }
    response.end(`${record}]}`);
  };
  const server = await startProtocolServer((response) => void writeSlowly(response));
  const read: number[] = [];
  const client = server.client({ onRequest: ({ bytes }) => read.push(bytes) });
  const paused = client.list({ ...REQUEST, meter: createRequestMeter() });
  await paused.next();
  // As long as another reader needs for all of the 20 MB.
  expect((await takeAll(client)).count).toBe(20_001);
  await paused.return(undefined as never);
  const [whole = 0, stopped = 0] = read;
  expect(whole).toBe('{"ok":true,"items":[]}'.length + 20_001 * record.length + 20_000);
  expect(stopped).toBeLessThan(3_000_000);
});

test('time that the consumer takes does not count for the request timeout', async () => {
  const server = await startProtocolServer((response) => {
    response.write(BEGINNING);
    setTimeout(() => response.end('1]}'), 60);
  });
  const list = server.client({ requestTimeoutMs: 100 }).list({ ...REQUEST, meter: createRequestMeter() });
  await list.next();
  // Longer than the timeout is the point of this test.
  await new Promise((resolve) => setTimeout(resolve, 250));
  let next = await list.next();
  while (next.done !== true) next = await list.next();
  expect(next.value.count).toBe(1_001);
});
