import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { createHttpAgent } from '../../../src/shared/http-agent.ts';
import { untilTestEnds } from '../../support/lifetime.ts';

afterEach(() => vi.unstubAllEnvs());

const agentFor = (origin: string) =>
  untilTestEnds(createHttpAgent(origin, { connections: 1, connectTimeoutMs: 5000 }));

test('a request goes through the proxy of HTTPS_PROXY, which alone gets its user and password, but not for a host of NO_PROXY or this machine; where the proxy breaks off it fails at once', async () => {
  const asked: string[] = [];
  const server = http.createServer();
  server.on('connect', (request, socket) => {
    asked.push(`${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
    if (request.url === 'broken.invalid:443') socket.destroy();
    else socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  untilTestEnds({ close: () => new Promise<void>((resolve) => server.close(() => resolve())) });
  vi.stubEnv('HTTPS_PROXY', `user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv('NO_PROXY', 'other, .excepted.invalid');
  const ask = (origin: string) => agentFor(origin).request({ method: 'GET', path: '/' });
  await expect(ask('https://service.invalid')).rejects.toThrow('407');
  await expect(ask('https://api.excepted.invalid')).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
  await expect(ask('https://127.0.0.1:1')).rejects.toThrow('ECONNREFUSED');
  const brokenOff = {
    message: 'the proxy broke off',
    code: 'PROXY_FAILED',
    cause: expect.any(Error) as Error,
  };
  await expect(ask('https://broken.invalid')).rejects.toMatchObject(brokenOff);
  const login = `Basic ${btoa('user:secret')}`;
  expect(asked).toEqual([`service.invalid:443 ${login}`, `broken.invalid:443 ${login}`]);
});

test('a proxy that is no URL is a problem of its variable, which is not shown; an empty one is none', () => {
  vi.stubEnv('HTTPS_PROXY', '');
  agentFor('https://service.example');
  for (const proxy of ['ftp://u:secret@x', 'shttp://u:secret@x']) {
    vi.stubEnv('HTTPS_PROXY', proxy);
    expect(() => agentFor('https://service.example')).toThrow(/^HTTPS_PROXY: expected .* \(not shown\)$/);
  }
});

test('a closed agent sends no request', async () => {
  const agent = agentFor('http://127.0.0.1:1');
  await agent.close();
  await expect(agent.request({ method: 'GET', path: '/' })).rejects.toThrow('destroyed');
});
