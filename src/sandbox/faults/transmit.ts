import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { Fault } from './fault-plan.ts';

const BAD_GATEWAY = '<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>\n';
const PIECES = 10;

/** Sends a response, complete or damaged by the fault. */
export async function transmit(response: ServerResponse, body: string, fault: Fault | null): Promise<void> {
  const bytes = Buffer.from(body);
  response.setHeader('content-length', bytes.length);
  if (fault?.kind === 'cut') {
    const kept = Math.min(bytes.length - 1, Math.floor(bytes.length * (fault.share ?? 0.5)));
    response.flushHeaders();
    if (kept > 0) await new Promise((resolve) => response.write(bytes.subarray(0, kept), resolve));
    response.destroy();
  } else if (fault?.kind === 'slow') {
    // A client that disconnects ends it.
    await pipeline(drip(bytes, fault.durationMs ?? 1000), response).catch(() => undefined);
  } else response.end(bytes);
}

/** The response of a proxy, without any headers of the service. */
export function respondAsGateway(response: ServerResponse, fault: Extract<Fault, { kind: 'nonJson' }>): void {
  response.sendDate = false;
  response.writeHead(fault.httpStatus ?? 502, { 'content-type': 'text/html', ...fault.headers });
  response.end(fault.body ?? BAD_GATEWAY);
}

async function* drip(bytes: Buffer, durationMs: number): AsyncGenerator<Buffer> {
  const size = Math.ceil(bytes.length / PIECES);
  for (let from = 0; from < bytes.length; from += size) {
    await delay(durationMs / PIECES);
    yield bytes.subarray(from, from + size);
  }
}
