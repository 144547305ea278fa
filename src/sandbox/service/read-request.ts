import type { IncomingMessage } from 'node:http';

import { ServiceError } from './service-error.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** POST: the JSON body. GET: the query string is the JSON, URL-encoded where necessary. */
export async function readRequestObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  // The body is always drained, because the connection could not be reused otherwise.
  const body = await readRequestBody(request);
  if (request.method !== 'GET' && request.method !== 'POST') throw new ServiceError('request_method_invalid');
  return parseObject(request.method === 'POST' ? body : decodeQuery(request.url ?? ''));
}

async function readRequestBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES)
    throw new ServiceError('request_data_invalid', 'the request object is too large');
  return Buffer.concat(chunks).toString('utf8');
}

function decodeQuery(url: string): string {
  const mark = url.indexOf('?');
  if (mark === -1) return '';
  try {
    return decodeURIComponent(url.slice(mark + 1));
  } catch {
    throw new ServiceError('request_data_invalid', 'the query string is not URL-encoded');
  }
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ServiceError('request_data_invalid');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceError('request_data_invalid', 'the request is not a JSON object');
  }
  return value as Record<string, unknown>;
}
