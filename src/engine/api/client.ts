/** The service's client for readers: lists and objects, with retries, within the limits, each request with a current token. */
import type { Received } from '../../shared/received.ts';
import { setMaxListeners } from 'node:events';
import { SafetySyncError } from '../../shared/errors.ts';
import { withSpan } from '../../shared/with-span.ts';
import { readPaging } from './envelope.ts';
import { type Call, createHttp, type HttpResponse } from './http.ts';
import { createLimiter } from './limiter.ts';
import { listParts } from './list-parts.ts';
import type {
  ApiClientOptions,
  ClientPressure,
  ListResponse,
  ListPage,
  ListPart,
  ListRequest,
  ObjectRequest,
  RequestEvent,
} from './requests.ts';
import type { TakeRecords } from './response-body.ts';
import { runRetrying } from './retry.ts';
import { createSlots } from './slots.ts';
import { createToken } from './token.ts';

export interface ApiClient {
  /**
   * Yields the list in batches while its response arrives, and returns the rest of the response. The records count only
   * once the generator has returned. The body is read at most one batch ahead of the consumer. A consumer that leaves the
   * generator early ends the request, which frees its slot and connection. While a `next` is pending, `return` waits for
   * it, so only the signal ends the request at once.
   *
   * The request keeps its slot until its last batch is taken. A consumer must not use this client in between, because with
   * a concurrency of 1 it would wait for itself.
   */
  list(request: ListRequest): AsyncGenerator<ListPart, ListResponse, undefined>;
  /** A list that fits into memory, because the service limits the size of a page. */
  page(request: ListRequest): Promise<ListPage>;
  /** The property that holds the object. */
  fetchObject(request: ObjectRequest): Promise<unknown>;
  readonly pressure: ClientPressure;
  /** The service refused the token, and its file has another one. */
  readonly hasNewToken: boolean;
  /** Ends all requests at once; they are rejected as `interrupted`. */
  close(): Promise<void>;
}

/** Parameters that select a part of a list. */
const PART_PARAMETERS = ['page', 'limit', 'updated_after', 'created_after', 'created_before'] as const;

function partOf(params: Call['params']): Readonly<Record<string, number>> {
  const named = PART_PARAMETERS.flatMap((name) => {
    const value = params[name];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(named);
}

function toListResponse({ envelope, count, headers }: HttpResponse): ListResponse {
  return { count, envelope, paging: readPaging(envelope), serviceTimeMs: headers.serviceTimeMs };
}

type Unsent = Omit<Call, 'token' | 'takeRecords' | 'onBytes'> & {
  /**
   * Returns the receiver of the records of the next response. Each response has its own receiver, because the records of a
   * failed response are void.
   */
  readonly takeNext: (() => TakeRecords) | undefined;
};

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock } = options;
  const limiter = createLimiter(options);
  const slots = createSlots(limiter);
  const token = createToken(options);
  const http = createHttp(options, token.redact);
  const closing = new AbortController();

  /** One HTTP request, in a span and for `onRequest`. The span has no parameters, because they may be personal data. */
  const send = ({ takeNext, ...unsent }: Unsent, asked: string, attempt: number): Promise<HttpResponse> => {
    const { method, params } = unsent;
    const attributes = { 'rpc.method': method, 'safety_sync.attempt': attempt };
    return withSpan(`request ${method}`, attributes, async (span) => {
      const startedMs = clock.monotonicMs();
      let bytes = 0;
      const report = (end: Pick<RequestEvent, 'records' | 'requestId' | 'errorCode'>): void => {
        const durationMs = clock.monotonicMs() - startedMs;
        options.onRequest?.({ method, part: partOf(params), attempt, durationMs, bytes, ...end });
      };
      const taking = takeNext === undefined ? {} : { takeRecords: takeNext() };
      const onBytes = (more: number): void => void (bytes += more);
      try {
        const { headers, ...response } = await http.call({ ...unsent, ...taking, token: asked, onBytes });
        span.setAttributes({
          'safety_sync.status': 'ok',
          'safety_sync.request_id': headers.requestId,
          'safety_sync.records.read': response.count,
        });
        report({ records: response.count, requestId: headers.requestId, errorCode: null });
        return { ...response, headers };
      } catch (error) {
        const known = error instanceof SafetySyncError ? error : undefined;
        report({ records: null, requestId: known?.requestId, errorCode: known?.code ?? 'internal_error' });
        throw error;
      }
    });
  };

  /** Repeats the request at once if the service refused the token and a new one is available. */
  const ask = async (call: Unsent, attempt: number): Promise<HttpResponse> => {
    const asked = token.take();
    call.meter.requests += 1;
    if (attempt > 1) call.meter.retries += 1;
    try {
      return await send(call, asked, attempt);
    } catch (error) {
      const isRefused = error instanceof SafetySyncError && error.recovery === 'fail_run';
      if (!isRefused || !token.refuse(asked)) throw error;
      call.meter.requests += 1;
      call.meter.retries += 1;
      return await send(call, token.take(), attempt);
    }
  };

  const attempt = (call: Unsent, attemptNumber: number): Promise<HttpResponse> =>
    slots.run(async (ordinal) => {
      try {
        const response = await ask(call, attemptNumber);
        limiter.recordSuccess(ordinal);
        return response;
      } catch (error) {
        if (error instanceof SafetySyncError && error.code === 'rate_limit_exceeded') {
          call.meter.throttled += 1;
          limiter.recordThrottled(ordinal, error.retryAfterMs);
        }
        throw error;
      }
    }, call.signal);

  const run = async (
    request: ListRequest | ObjectRequest,
    takeNext?: () => TakeRecords,
    abandoned?: AbortSignal,
  ): Promise<HttpResponse> => {
    const { method } = request;
    const stop = new AbortController();
    const sources = [closing.signal, request.signal, abandoned].filter((source) => source !== undefined);
    const onAbort = (): void => {
      const cause: unknown = sources.find((source) => source.aborted)?.reason;
      stop.abort(new SafetySyncError('interrupted', `${method}: stopped before its response`, { cause }));
    };
    if (sources.some((source) => source.aborted)) onAbort();
    // All requests of a run share one signal; Node.js would warn of a leak from the eleventh listener on.
    setMaxListeners(0, ...sources);
    for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
    try {
      const { signal } = stop;
      const call = { ...request, signal, takeNext };
      return await runRetrying({ options, limiter, request, signal, attempt: (nth) => attempt(call, nth) });
    } catch (error) {
      if (error instanceof SafetySyncError)
        error.place = { entry: options.entry, tokenFile: options.tokenFile };
      throw error;
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  };

  const list: ApiClient['list'] = (request) =>
    listParts(async (takeNext, abandoned) => toListResponse(await run(request, takeNext, abandoned)));

  return {
    list,
    page: async (request) => {
      let records: Received[] = [];
      const takeNext = (): TakeRecords => {
        records = [];
        return (some) => Promise.resolve(void records.push(...some));
      };
      const response = await run(request, takeNext);
      return { ...toListResponse(response), records };
    },
    fetchObject: async (request) => (await run(request)).envelope[request.objectKey],
    get pressure() {
      const coolingMs = limiter.coolingMs();
      return {
        inFlight: slots.inFlight,
        waiting: slots.waiting,
        concurrencyNow: limiter.concurrencyNow,
        coolingUntilMs: coolingMs > 0 ? clock.now() + coolingMs : undefined,
      };
    },
    get hasNewToken() {
      return token.isReplaced;
    },
    close: async () => {
      closing.abort();
      await http.close();
    },
  };
}
