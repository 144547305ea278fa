import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { Fault } from './fault.ts';

const BAD_GATEWAY = `<html>\r
<head><title>502 Bad Gateway</title></head>\r
<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body>\r
</html>\r
`;

/** Sends a response, complete or damaged by the fault. */
export async function transmit(response: ServerResponse, body: string, fault: Fault | null): Promise<void> {
  const bytes = Buffer.from(body);
  if (fault?.kind === 'cut') return cut(response, bytes, fault);
  response.setHeader('content-length', bytes.length);
  if (fault?.kind !== 'slow') response.end(bytes);
  // A client that disconnects ends it.
  else await pipeline(drip(bytes, fault), response).catch(() => undefined);
}

/** The response of a proxy, without any headers of the service. */
export function respondAsGateway(response: ServerResponse, fault: Extract<Fault, { kind: 'nonJson' }>): void {
  response.sendDate = false;
  response.writeHead(fault.httpStatus ?? 502, { 'content-type': 'text/html', ...fault.headers });
  response.end(fault.body ?? BAD_GATEWAY);
}

async function cut(
  response: ServerResponse,
  bytes: Buffer,
  fault: Extract<Fault, { kind: 'cut' }>,
): Promise<void> {
  const kept = Math.min(bytes.length - 1, Math.floor(bytes.length * (fault.share ?? 0.5)));
  if (fault.framing !== 'chunked') response.setHeader('content-length', bytes.length);
  response.flushHeaders();
  if (kept > 0) {
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, kept), () => resolve()));
  }
  response.destroy();
}

async function* drip(bytes: Buffer, fault: Extract<Fault, { kind: 'slow' }>): AsyncGenerator<Buffer> {
  const pieces = Math.max(1, fault.pieces ?? 10);
  for (let piece = 0; piece < pieces; piece += 1) {
    await delay((fault.durationMs ?? 1000) / pieces);
    const from = Math.floor((bytes.length * piece) / pieces);
    yield bytes.subarray(from, Math.floor((bytes.length * (piece + 1)) / pieces));
  }
}
