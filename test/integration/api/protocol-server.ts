import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ApiClient } from '../../../src/engine/api/client.ts';
import type { ApiClientOptions } from '../../../src/engine/api/requests.ts';
import { clientFor } from '../../support/api-client.ts';
import { untilTestEnds } from '../../support/lifetime.ts';

export const TOKEN = 'sekret-token-0123456789-abcdef';

interface ReceivedRequest {
  readonly httpMethod: string;
  readonly url: string;
  /** The client's port: equal for requests on one connection. */
  readonly clientPort: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers the n-th request (from 1). */
export type Responder = (response: ServerResponse, request: ReceivedRequest, ordinal: number) => void;

export interface ProtocolServer {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  client(options?: Partial<ApiClientOptions>): ApiClient;
}

/** A real HTTP server on a free port of the loopback interface, until the present test ends. */
export async function startProtocolServer(respond: Responder): Promise<ProtocolServer> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((message, response) => {
    const parts: Buffer[] = [];
    message.on('data', (part: Buffer) => parts.push(part));
    message.on('end', () => {
      const request = {
        httpMethod: message.method ?? '',
        url: message.url ?? '',
        clientPort: message.socket.remotePort ?? 0,
        headers: message.headers,
        body: Buffer.concat(parts).toString('utf8'),
      };
      requests.push(request);
      respond(response, request, requests.length);
    });
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    client: (options) => untilTestEnds(clientFor({ url, token: TOKEN }, { retryMaxDelayMs: 4, ...options })),
  };
}

export function respondJson(
  response: ServerResponse,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}
