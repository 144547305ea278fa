import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import type { Fault } from './fault.ts';

const BAD_GATEWAY = `<html>\r
<head><title>502 Bad Gateway</title></head>\r
<body><center><h1>502 Bad Gateway</h1></center><hr><center>gateway</center></body>\r
</html>\r
`;

export type Body = string | Iterable<string>;

/** Sends a response, complete or damaged by the fault. */
export async function transmit(response: ServerResponse, body: Body, fault: Fault | null): Promise<void> {
  if (fault?.kind === 'cut') return cut(response, body, fault);
  if (fault?.kind === 'slow') return drip(response, body, fault);
  if (fault?.kind === 'oddHttp' && fault.encoding === 'gzip') {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(toBytes(body)));
    return;
  }
  if (typeof body === 'string') {
    const bytes = toBytes(body);
    response.setHeader('content-length', bytes.length);
    response.end(bytes);
    return;
  }
  for (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await writable(response);
  }
  response.end();
}

const toBytes = (body: Body): Buffer => Buffer.from(typeof body === 'string' ? body : [...body].join(''));

/** The response of a proxy, without any headers of the service. */
export function respondAsGateway(response: ServerResponse, fault: Extract<Fault, { kind: 'nonJson' }>): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.sendDate = false;
  response.writeHead(fault.httpStatus ?? 502, { 'content-type': 'text/html', ...fault.headers });
  response.end(fault.body ?? BAD_GATEWAY);
}

async function cut(
  response: ServerResponse,
  body: Body,
  fault: Extract<Fault, { kind: 'cut' }>,
): Promise<void> {
  const bytes = toBytes(body);
  const share = fault.share ?? 0.5;
  const kept = Math.min(bytes.length - 1, Math.floor(bytes.length * share));
  if (fault.framing !== 'chunked') response.setHeader('content-length', bytes.length);
  response.flushHeaders();
  if (kept > 0) {
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, kept), () => resolve()));
  }
  response.destroy();
}

async function drip(
  response: ServerResponse,
  body: Body,
  fault: Extract<Fault, { kind: 'slow' }>,
): Promise<void> {
  const bytes = toBytes(body);
  const pieces = Math.max(1, fault.pieces ?? 10);
  const pauseMs = (fault.durationMs ?? 1000) / pieces;
  response.setHeader('content-length', bytes.length);
  for (let piece = 0; piece < pieces; piece += 1) {
    await delay(pauseMs);
    if (response.destroyed) return;
    const from = Math.floor((bytes.length * piece) / pieces);
    const to = Math.floor((bytes.length * (piece + 1)) / pieces);
    if (!response.write(bytes.subarray(from, to))) await writable(response);
  }
  response.end();
}

/** A disconnected client never drains, so `close` ends the wait, too. */
async function writable(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([
      once(response, 'drain', { signal: done.signal }),
      once(response, 'close', { signal: done.signal }),
    ]);
  } finally {
    done.abort();
  }
}
