/** Sends one request and reads its response. */
import * as z from 'zod';
import { SafetySyncError } from '../../shared/errors.ts';
import { createHttpAgent } from '../../shared/http-agent.ts';
import type { Redact } from '../../shared/redact.ts';
import { LONGEST_TIMER_MS, SECOND_MS } from '../../shared/time.ts';
import { cutResponse } from './list-cutter.ts';
import type { ApiClientOptions, ApiRequest, ListPage, Paging } from './requests.ts';
import { readBody } from './response-body.ts';
import {
  type ResponseContext,
  toConnectionError,
  toServerText,
  toServiceError,
  toUnusableError,
  UnusableResponse,
} from './response-errors.ts';

/** Header names in lower case, as undici gives them. */
type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

function toTime(text = ''): number | undefined {
  const time = Date.parse(text);
  return Number.isFinite(time) ? time : undefined;
}

/**
 * Seconds, or a date, which is compared with the service's own Date because the worker's clock may be hours
 * off.
 */
function toRetryAfterMs(text = '', nowMs: number): number | undefined {
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text) * SECOND_MS;
  const time = toTime(text);
  return time === undefined ? undefined : Math.max(0, time - nowMs);
}

export function readHeaders(headers: RawHeaders, redact: Redact, nowMs: number) {
  const first = (name: string): string | undefined => [headers[name]].flat()[0];
  const safe = (text = '') => toServerText(text, redact) || undefined;
  // The specification calls the prefix of its headers neutral.
  const ofOtherPrefix = Object.keys(headers).find((name) => name.endsWith('-request-id')) ?? '';
  /** ms since 1970 by the service's clock. */
  const serviceTimeMs = toTime(first('date'));
  const encoding = first('content-encoding')?.trim().toLowerCase();
  return {
    requestId: safe(first('svc-request-id') ?? first(ofOtherPrefix)),
    serviceTimeMs,
    /** ms that the service requires before the next request. */
    retryAfterMs: toRetryAfterMs(first('retry-after'), serviceTimeMs ?? nowMs),
    /** In lower case; undefined where the body is not compressed. */
    contentEncoding: encoding === '' || encoding === 'identity' ? undefined : encoding,
    /** 0: not announced. */
    contentLength: Number(first('content-length') ?? 0) || 0,
    location: safe(first('location')),
  };
}

const countSchema = z
  .union([z.number(), z.string().trim().regex(/^\d+$/).transform(Number)])
  .pipe(z.int().nonnegative())
  .optional()
  .catch(undefined);

const pagingSchema = z.object({ total: countSchema, last_page: countSchema });

/** undefined: the response has no paging. Paging without a usable value is still a sign that there are pages. */
function readPaging({ paging }: ListPage['envelope']): Paging | undefined {
  if (paging === undefined || paging === null) return undefined;
  const parsed = pagingSchema.safeParse(paging);
  return { total: parsed.data?.total, lastPage: parsed.data?.last_page };
}

export function createHttp(options: ApiClientOptions, redact: Redact) {
  const { clock, requestTimeoutMs } = options;
  const base = new URL(options.baseUrl);
  const pathPrefix = `${base.pathname.replace(/\/+$/, '')}/v1/`;
  const agent = createHttpAgent(base.origin, {
    connections: options.concurrency,
    connectTimeoutMs: requestTimeoutMs,
  });

  /** `token`: sent in the body only. Rejects with a SafetySyncError only, or with the reason of the signal. */
  async function send(request: ApiRequest, token: string, signal: AbortSignal): Promise<ListPage> {
    const { method, params, meter } = request;
    const asked = { method, params, origin: base.origin, redact };
    let received: ResponseContext | undefined;
    let body: Buffer | undefined;
    const limitMs = Math.min(LONGEST_TIMER_MS, requestTimeoutMs * (request.comesWhole === true ? 2 : 1));
    // One controller instead of AbortSignal.any, which leaks memory in Node 20 while a source lives on.
    const ended = new AbortController();
    const onAbort = (): void => ended.abort(signal.reason);
    const timer = setTimeout(() => {
      const message = `${method}: no complete response within ${limitMs} ms`;
      const requestId = received?.headers.requestId;
      ended.abort(new SafetySyncError('request_timeout', message, { requestId }));
    }, limitMs);
    signal.addEventListener('abort', onAbort);
    try {
      signal.throwIfAborted();
      const response = await agent.request({
        method: 'POST',
        path: `${pathPrefix}${encodeURIComponent(method)}`,
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': options.userAgent,
        },
        body: JSON.stringify({ ...params, token }),
        signal: ended.signal,
      });
      const headers = readHeaders(response.headers, redact, clock.now());
      const { serviceTimeMs, requestId } = headers;
      received = { ...asked, status: response.statusCode, headers };
      meter.lastRequestId = requestId ?? meter.lastRequestId;
      // A body that is destroyed while it arrives emits an error; the reader has thrown its own.
      response.body.on('error', () => undefined);
      body = await readBody(response.body, headers);
      const { envelope, records } = cutResponse(body, request.listKey, request.fields);
      assertAccepted(envelope, request, received);
      return { records, envelope, paging: readPaging(envelope), serviceTimeMs, requestId };
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason;
      if (error instanceof SafetySyncError) throw error;
      if (error instanceof UnusableResponse && received !== undefined)
        throw toUnusableError(error, received, body?.toString('utf8', 0, 4096) ?? '');
      throw toConnectionError(error, received ?? asked);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  return { send, close: agent.close };
}

/** Throws if the response is complete JSON but not a response to this request. */
function assertAccepted(
  envelope: ListPage['envelope'],
  { listKey, objectKey }: ApiRequest,
  context: ResponseContext,
): void {
  const fail = (message: string): never => {
    const fields = Object.keys(envelope).join(', ') || 'none';
    throw new UnusableResponse('response_invalid', `${message}; its fields: ${fields}`);
  };
  const { ok, error, description } = envelope;
  if (ok === false && typeof error === 'string' && error !== '')
    throw toServiceError({ error, description }, context);
  if (ok === false) fail('ok is false, but there is no error identifier');
  if (ok !== true) fail('there is no ok that is true or false');
  // A cache or gateway may send a part of a response with 206, or a stored one with 5xx, and that must not delete rows.
  if (context.status !== 200) fail('ok is true under a status that the service never uses');
  for (const key of [listKey, objectKey]) {
    if (key !== undefined && !Object.hasOwn(envelope, key)) fail(`${key} is missing`);
  }
  if (listKey !== undefined && !Array.isArray(envelope[listKey])) fail(`${listKey} is not a list`);
}
