import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRequestMeter } from '../../../src/engine/api/requests.ts';
import { respondJson, startProtocolServer, TOKEN } from './protocol-server.ts';

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
  expect(meter).toEqual({
    requests: 1,
    retries: 0,
    lastRequestId: 'r1',
    throttled: 0,
    unknownMembers: new Set(),
  });
  const [request] = server.requests;
  expect(request).toMatchObject({ httpMethod: 'POST', url: '/some/path/v1/followups.list' });
  expect(JSON.parse(request?.body ?? '')).toEqual({ limit: 500, status: 'all', token: TOKEN });
  expect(JSON.stringify(request?.headers)).not.toContain(TOKEN);
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'safety-sync/test',
  });
});

const BODY = JSON.stringify({ ok: true, items: Array.from({ length: 5_000 }, (_, id) => ({ id })) });
const read = async (encoding: string, bytes: Buffer, times = 1) => {
  const headers = encoding === '' ? {} : { 'content-encoding': encoding };
  const server = await startProtocolServer((response) => void response.writeHead(200, headers).end(bytes));
  const client = server.client({ concurrency: 1 });
  const request = { method: 'x.list', listKey: 'items', params: {}, meter: createRequestMeter() };
  const pages = [];
  for (let count = 0; count < times; count += 1) pages.push(await client.page(request));
  return { pages, connections: new Set(server.requests.map(({ clientPort }) => clientPort)).size };
};

test.each([
  ['plain', '', Buffer.from(BODY)],
  ['compressed', 'gzip', gzipSync(BODY)],
])('%s responses are read, and keep their connection', async (_name, encoding, bytes) => {
  const { pages, connections } = await read(encoding, bytes, 3);
  expect(pages.map(({ records }) => records.length)).toEqual([5_000, 5_000, 5_000]);
  expect(pages[2]?.records[4_999]?.parse()).toEqual({ id: 4_999 });
  expect(connections).toBe(1);
});

test.each([
  ['cut off in its checksum, the JSON complete', 'gzip', gzipSync(BODY).subarray(0, -4), 'response_cut'],
  ['not compressed at all', 'gzip', Buffer.from(BODY), 'response_not_json'],
])('a compressed response that is %s is an error', async (_name, encoding, bytes, code) => {
  await expect(read(encoding, bytes)).rejects.toMatchObject({ code });
});
