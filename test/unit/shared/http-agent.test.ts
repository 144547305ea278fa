import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { createHttpAgent, proxyFor } from '../../../src/shared/http-agent.ts';
import { untilTestEnds } from '../../support/lifetime.ts';

const PROXY = 'proxy.example:3128';

test.each([
  ['https://service.example', { HTTPS_PROXY: `http://${PROXY}` }, PROXY],
  ['https://service.example', { HTTPS_PROXY: 'http://other:1', https_proxy: PROXY }, PROXY],
  ['https://service.example', { ALL_PROXY: PROXY }, PROXY],
  ['https://service.example', { HTTP_PROXY: PROXY, http_proxy: PROXY }, undefined],
  ['http://service.example', { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY }, undefined],
  ['http://service.example', { http_proxy: PROXY }, PROXY],
  ['http://127.0.0.1:8000', { http_proxy: PROXY }, undefined],
  ['https://api.service.example', { HTTPS_PROXY: PROXY, NO_PROXY: 'other, .service.example' }, undefined],
  ['https://service.example', { HTTPS_PROXY: PROXY, NO_PROXY: 'service.example:443' }, undefined],
  ['https://myservice.example', { HTTPS_PROXY: PROXY, NO_PROXY: 'service.example' }, PROXY],
  ['https://10.1.2.3', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' }, undefined],
  ['https://11.1.2.3', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' }, PROXY],
  ['https://service.example', { HTTPS_PROXY: PROXY, NO_PROXY: 'all', no_proxy: '*' }, undefined],
])('requests to %s with %j go through the proxy %s', (address, env, proxy) => {
  expect(proxyFor(new URL(address), env)?.host).toBe(proxy);
});

test('a proxy that is no URL is a problem of its variable, which is not shown', () => {
  expect(() => proxyFor(new URL('https://service.example'), { HTTPS_PROXY: 'ftp://u:secret@x' })).toThrow(
    'HTTPS_PROXY: expected the address of a proxy, such as http://proxy.example.com:3128, got something else (not shown)',
  );
});

afterEach(() => vi.unstubAllEnvs());

async function startProxy(): Promise<{ address: string; asked: string[] }> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
    response.end('from the proxy');
  });
  server.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  untilTestEnds({ close: () => new Promise<void>((resolve) => server.close(() => resolve())) });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const agentFor = (origin: string) =>
  untilTestEnds(createHttpAgent(origin, { connections: 1, connectTimeoutMs: 5000 }));

test('the proxy that refuses a request is named with its answer, and its user and password are sent to it only', async () => {
  const { address, asked } = await startProxy();
  vi.stubEnv('HTTPS_PROXY', `http://user:secret@${address}`);
  const request = agentFor('https://service.invalid').request({ method: 'GET', path: '/' });
  await expect(request).rejects.toMatchObject({
    code: 'PROXY_HTTP_407',
    message: `through the proxy ${address}: it answered with HTTP 407`,
  });
  expect(asked).toEqual([`CONNECT service.invalid:443 Basic ${btoa('user:secret')}`]);
});

test('a request to plain http is sent to its proxy as a whole', async () => {
  const { address, asked } = await startProxy();
  vi.stubEnv('http_proxy', address);
  const { body } = await agentFor('http://service.invalid').request({ method: 'GET', path: '/a?b' });
  expect([await body.text(), asked]).toEqual(['from the proxy', ['http://service.invalid/a?b ']]);
});

test('a proxy that cannot be reached is named', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:1');
  const request = agentFor('https://service.invalid').request({ method: 'GET', path: '/' });
  await expect(request).rejects.toMatchObject({ code: 'ECONNREFUSED', proxy: '127.0.0.1:1' });
});
