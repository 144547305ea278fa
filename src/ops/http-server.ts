/** The HTTP side of `start`. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SafetySyncError } from '../shared/errors.ts';

export interface Health {
  readonly status: 'ok' | 'stopping';
  readonly version: string;
  /** Seconds since the start. */
  readonly uptime_seconds: number;
}

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly health: () => Health;
}

export interface OpsServer {
  readonly url: string;
  close(): Promise<void>;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

export async function startHttpServer({ host, port, health }: HttpServerOptions): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendJson(response, 405, { error: 'only GET' });
    } else if (path === '/healthz') {
      const state = health();
      sendJson(response, state.status === 'ok' ? 200 : 503, state);
    } else {
      sendJson(response, 404, { error: 'not found' });
    }
  });
  try {
    await listen(server, host, port);
  } catch (error) {
    const message = `cannot serve HTTP on ${host}:${port}: ${(error as Error).message}; set HTTP_HOST and HTTP_PORT`;
    throw new SafetySyncError('configuration_invalid', message, { cause: error });
  }
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
