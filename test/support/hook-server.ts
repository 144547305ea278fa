import { startReceivingServer } from './receiving-server.ts';

export const HOOK_SECRET = 'T0CANARY/B0CANARY/hook-canary-secret';

/** A webhook receiver with responses that the test sets. */
export async function startHookServer() {
  const received = {
    /** Accepted texts in order. */
    texts: [] as string[],
    /** All GETs, accepted or not. */
    pings: 0,
    /** All other requests, accepted or not. */
    bodies: [] as string[],
    /** 200: accepts; `hang`: never responds. */
    answer: 200 as number | 'hang',
  };
  const server = await startReceivingServer((response, request, body) => {
    const { answer } = received;
    if (request.method === 'GET') {
      received.pings += 1;
      if (answer !== 'hang') response.writeHead(answer).end();
      return;
    }
    received.bodies.push(body);
    if (answer !== 'hang') {
      if (answer < 300) received.texts.push((JSON.parse(body) as { text: string }).text);
      // Echoes the request, as some services do.
      response.writeHead(answer).end(answer < 300 ? 'ok' : `no such hook: ${request.url ?? ''}`);
    }
  });
  // Its path contains a secret, as those of chat services do.
  return Object.assign(received, { ...server, url: `${server.url}/services/${HOOK_SECRET}` });
}

export type HookServer = Awaited<ReturnType<typeof startHookServer>>;
