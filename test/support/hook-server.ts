import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes what a webhook is sent, and answers as the test says. */
export interface HookServer {
  /** With a secret in its path, as those of chat services have. */
  readonly url: string;
  /** Texts that were taken, in their order. */
  readonly texts: string[];
  /** GETs that came, taken or not. */
  pings: number;
  /** Everything else that came, taken or not. */
  readonly bodies: string[];
  /** 200: takes it; `hang`: never answers. */
  answer: number | 'hang';
  /** What it says when it refuses, without an end. */
  says: string | null;
  /** Of the next request: resolves when it has come as a whole. */
  next(): Promise<void>;
  close(): Promise<void>;
}

export const HOOK_SECRET = 'T0CANARY/B0CANARY/hook-canary-secret';

/** As fast as it is read, until nobody does any more. */
function flood(response: ServerResponse, text: string): void {
  const go = (): void => {
    while (!response.destroyed && response.write(text));
    response.once('drain', go);
  };
  go();
}

export async function startHookServer(): Promise<HookServer> {
  let waiting: (() => void)[] = [];
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
      const told = waiting;
      waiting = [];
      if (hook.answer !== 'hang') {
        if (hook.answer < 300) hook.texts.push((JSON.parse(body) as { text: string }).text);
        if (hook.says !== null) flood(response.writeHead(hook.answer), hook.says);
        // As some services do, it says back what it was sent.
        else
          response
            .writeHead(hook.answer)
            .end(hook.answer < 300 ? 'ok' : `no such hook: ${request.url ?? ''}`);
      }
      for (const tell of told) tell();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hook: HookServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/${HOOK_SECRET}`,
    texts: [],
    bodies: [],
    pings: 0,
    answer: 200,
    says: null,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return hook;
}
