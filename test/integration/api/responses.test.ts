import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type ListPage, createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer, TOKEN } from './protocol-server.ts';
import type { Responder } from './protocol-server.ts';

async function read(respond: Responder): Promise<ListPage> {
  const server = await startProtocolServer(respond);
  const meter = createRequestMeter();
  return await server.client().page({ method: 'x.list', listKey: 'items', params: {}, meter });
}

test('a list is requested by POST with the token in the body only', async () => {
  const server = await startProtocolServer((response) => {
    respondJson(
      response,
      { ok: true, paging: { total: '2', last_page: 1 }, followups: [{ id: 'a' }, { id: 'b' }], extra: 1 },
      { 'SVC-Request-ID': 'r1', 'SVC-Response-Time': '3', Date: 'Thu, 01 Jan 2026 00:00:00 GMT' },
    );
  });
  const meter = createRequestMeter();
  const page = await server.client({ baseUrl: `${server.url}/some/path/` }).page({
    method: 'followups.list',
    listKey: 'followups',
    params: { limit: 500, status: 'all' },
    meter,
  });
  expect({ ...page, records: page.records.map((one) => one.parse()) }).toEqual({
    records: [{ id: 'a' }, { id: 'b' }],
    envelope: { ok: true, paging: { total: '2', last_page: 1 }, followups: [], extra: 1 },
    paging: { total: 2, lastPage: 1 },
    serviceTimeMs: Date.parse('2026-01-01T00:00:00Z'),
    requestId: 'r1',
  });
  expect(meter).toEqual({ requests: 1, retries: 0, lastRequestId: 'r1', throttled: 0 });
  const [request] = server.requests;
  expect(request).toMatchObject({ httpMethod: 'POST', url: '/some/path/v1/followups.list' });
  expect(JSON.parse(request?.body ?? '')).toEqual({ limit: 500, status: 'all', token: TOKEN });
  expect(JSON.stringify(request?.headers)).not.toContain(TOKEN);
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'safety-sync/test',
  });
});

test.each([
  ['plain', {}, (text: string) => Buffer.from(text)],
  ['compressed', { 'content-encoding': 'gzip' }, (text: string) => gzipSync(text)],
])('a connection is kept after %s responses that were read to their end', async (_name, headers, encode) => {
  const server = await startProtocolServer((response) => {
    response.writeHead(200, headers).end(encode('{"ok":true,"items":[1]}'));
  });
  const client = server.client({ concurrency: 1 });
  const request = { method: 'x.list', listKey: 'items', params: {}, meter: createRequestMeter() };
  for (let count = 0; count < 5; count += 1) await client.page(request);
  expect(new Set(server.requests.map(({ clientPort }) => clientPort)).size).toBe(1);
});

test('a single object is returned unchanged', async () => {
  const server = await startProtocolServer((response) => {
    respondJson(response, { ok: true, user: { id: 'u1', name: 'Ann' } }, { 'svc-request-id': 'r2' });
  });
  const request = {
    method: 'users.info',
    objectKey: 'user',
    params: { user: 1 },
    meter: createRequestMeter(),
  };
  expect(await server.client().fetchObject(request)).toEqual({ id: 'u1', name: 'Ann' });
});

describe('compressed responses', () => {
  const body = JSON.stringify({ ok: true, items: Array.from({ length: 5_000 }, (_, id) => ({ id })) });

  test('a response compressed with gzip is read', async () => {
    const response = await read((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(body));
    });
    expect(response.records).toHaveLength(5_000);
    expect(response.records[4_999]?.parse()).toEqual({ id: 4_999 });
  });

  test.each([
    ['cut off', gzipSync(body).subarray(0, 2_000), 'response_cut'],
    ['cut off in its checksum, the JSON complete', gzipSync(body).subarray(0, -4), 'response_cut'],
    ['not compressed at all', Buffer.from(body), 'response_not_json'],
  ])('a gzip response that is %s is an error', async (_name, bytes, code) => {
    await expect(
      read((response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(bytes);
      }),
    ).rejects.toMatchObject({ code });
  });

  test('a response with an unsupported compression is response_not_json', async () => {
    await expect(
      read((response) => {
        response.writeHead(200, { 'content-encoding': 'zstd' });
        response.end(body);
      }),
    ).rejects.toMatchObject({ code: 'response_not_json' });
  });
});
