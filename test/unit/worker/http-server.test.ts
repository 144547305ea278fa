import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { jsonPage, startHttpServer } from '../../../src/operate/worker/http-server.ts';

let server: Awaited<ReturnType<typeof startHttpServer>>;
beforeEach(async () => {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: ['Status.example'],
    openPaths: ['/healthz'],
    routes: { '/': () => jsonPage(200, {}), '/healthz': () => jsonPage(200, {}) },
    onError: () => undefined,
  });
});
afterEach(() => server.close());

async function statusOf(path: string, host: string): Promise<number | undefined> {
  const asked = request(`${server.url}${path}`, { headers: { host } });
  const answered = once(asked, 'response') as Promise<[{ statusCode?: number; resume(): void }]>;
  asked.end();
  const [response] = await answered;
  response.resume();
  return response.statusCode;
}

it.each([
  '127.0.0.1:8080',
  '10.1.2.3',
  '[::1]:8080',
  'localhost:8080',
  'status.example',
  'STATUS.example:443',
])('a page is returned for the host name %s', async (host) => {
  expect(await statusOf('/', host)).toBe(200);
});

it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8080'])(
  'a page is refused for the host name %s, because a foreign name may resolve to this address, and probes are returned',
  async (host) => {
    expect(await statusOf('/', host)).toBe(421);
    expect(await statusOf('/healthz', host)).toBe(200);
  },
);
