import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook receiver with responses that the test sets. */
export interface HookServer {
  /** Contains a secret in its path, as chat services do. */
  readonly url: string;
  /** Accepted texts in order. */
  readonly texts: string[];
  /** All GETs, accepted or not. */
  pings: number;
  /** All other requests, accepted or not. */
  readonly bodies: string[];
  /** 200: accepts; `hang`: never responds. */
  answer: number | 'hang';
  close(): Promise<void>;
}

export const HOOK_SECRET = 'T0CANARY/B0CANARY/hook-canary-secret';

export async function startHookServer(): Promise<HookServer> {
  const server = createServer((request, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (request.method === 'GET') {
        hook.pings += 1;
        if (hook.answer !== 'hang') response.writeHead(hook.answer).end();
        return;
      }
      hook.bodies.push(body);
      if (hook.answer !== 'hang') {
        if (hook.answer < 300) hook.texts.push((JSON.parse(body) as { text: string }).text);
        // Echoes the request, as some services do.
        response.writeHead(hook.answer).end(hook.answer < 300 ? 'ok' : `no such hook: ${request.url ?? ''}`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hook: HookServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/${HOOK_SECRET}`,
    texts: [],
    bodies: [],
    pings: 0,
    answer: 200,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return hook;
}
