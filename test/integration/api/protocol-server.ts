import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiClientOptions } from '../../../src/engine/api/requests.ts';
import { clientFor } from '../../support/api-client.ts';
import { untilTestEnds } from '../../support/lifetime.ts';
import { startReceivingServer } from '../../support/receiving-server.ts';

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

/** A real HTTP server, until the present test ends. */
export async function startProtocolServer(respond: Responder) {
  const requests: ReceivedRequest[] = [];
  const server = await startReceivingServer((response, message, body) => {
    const request = {
      httpMethod: message.method ?? '',
      url: message.url ?? '',
      clientPort: message.socket.remotePort ?? 0,
      headers: message.headers,
      body,
    };
    requests.push(request);
    respond(response, request, requests.length);
  });
  const { url } = untilTestEnds(server);
  return {
    url,
    requests,
    client: (options?: Partial<ApiClientOptions>) =>
      untilTestEnds(clientFor({ url, token: TOKEN }, { retryMaxDelayMs: 4, ...options })),
  };
}

export type ProtocolServer = Awaited<ReturnType<typeof startProtocolServer>>;

export function respondJson(
  response: ServerResponse,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}
