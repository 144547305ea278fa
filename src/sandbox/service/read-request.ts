import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

import { ServiceError } from './service-error.ts';

/** POST: the JSON body. GET: the query string is the JSON, URL-encoded where necessary. */
export async function readRequestObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  // The body is always drained, because the connection could not be reused otherwise.
  const body = await text(request);
  if (request.method !== 'GET' && request.method !== 'POST') throw new ServiceError('request_method_invalid');
  let value: unknown;
  try {
    const [, query = ''] = (request.url ?? '').split(/\?(.*)/s);
    value = JSON.parse(request.method === 'POST' ? body : decodeURIComponent(query));
  } catch {
    // Refused below, like every other value that is no object.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ServiceError('request_data_invalid', 'the request is not a JSON object');
  return value as Record<string, unknown>;
}
