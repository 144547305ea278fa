/** The service as readers ask it: lists and objects, retried, kept within the limits, each request with a current token. */
import { setMaxListeners } from 'node:events';
import { SafetySyncError } from '../shared/errors.ts';
import type { Received } from '../shared/received.ts';
import { withSpan } from '../shared/with-span.ts';
import { readPaging } from './envelope.ts';
import { type Call, createHttp, type HttpResponse } from './http.ts';
import { createLimiter } from './limiter.ts';
import { type DeliverRecords, listParts } from './list-parts.ts';
import type {
  ApiClientOptions,
  ClientPressure,
  ListResponse,
  ListPage,
  ListPart,
  ListRequest,
  ObjectResponse,
  ObjectRequest,
  RequestEvent,
} from './requests.ts';
import type { TakeRecords } from './response-body.ts';
import { runRetrying } from './retry.ts';
import { createSlots } from './slots.ts';
import { createToken } from './token.ts';

export interface ApiClient {
  /**
   * Yields the list in batches while its response arrives, and returns what the response says beside it. What was
   * yielded counts only once the generator has returned. The body is read one batch ahead of the consumer at most.
   * Leaving the generator early ends the request and frees its slot and connection; while a `next` is pending, `return`
   * waits for it, so then only the signal ends it at once.
   *
   * The request keeps its slot until its last batch is taken: a consumer must not ask the same client for something else
   * in between, because with a concurrency of 1 it would wait for itself.
   */
  list(request: ListRequest): AsyncGenerator<ListPart, ListResponse, undefined>;
  /** A list that fits into memory: the service's own limits bound a page. */
  page(request: ListRequest): Promise<ListPage>;
  fetchObject(request: ObjectRequest): Promise<ObjectResponse>;
  readonly pressure: ClientPressure;
  /** The service refused the token, and another one stands where it is kept. */
  readonly hasNewToken: boolean;
  /** Ends everything at once: what is still under way is rejected as `interrupted`. */
  close(): Promise<void>;
}

/** Parameters that say which part of a list is asked for. */
const PART_PARAMETERS = ['page', 'limit', 'updated_after', 'created_after', 'created_before'] as const;

function partOf(params: Call['params']): Readonly<Record<string, number>> {
  const named = PART_PARAMETERS.flatMap((name) => {
    const value = params[name];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(named);
}

function toListResponse({ envelope, count, headers }: HttpResponse): ListResponse {
  const { requestId, serviceTimeMs, responseTimeMs } = headers;
  return { count, envelope, paging: readPaging(envelope), requestId, serviceTimeMs, responseTimeMs };
}

type Unsent = Omit<Call, 'token' | 'takeRecords'> & {
  /** Where the records of the next response go: each is told apart, since one that was refused or broke off is void. */
  readonly takeNext: (() => TakeRecords) | undefined;
};

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock } = options;
  const limiter = createLimiter(options);
  const slots = createSlots(limiter);
  const token = createToken(options);
  const http = createHttp(options, token.redact);
  const closing = new AbortController();

  /** What is asked with is in no span: it may tell more than a tracing service should know. */
  const traced = (call: Call, attemptNumber: number): Promise<HttpResponse> => {
    const attributes = { 'rpc.method': call.method, 'safety_sync.attempt': attemptNumber };
    return withSpan(`request ${call.method}`, attributes, async (span) => {
      const response = await http.call(call);
      span.setAttributes({
        'safety_sync.status': 'ok',
        'safety_sync.request_id': response.headers.requestId,
        'safety_sync.records.read': response.count,
      });
      return response;
    });
  };

  const observed = async (call: Call, attemptNumber: number): Promise<HttpResponse> => {
    const { onRequest } = options;
    if (onRequest === undefined) return await traced(call, attemptNumber);
    const startedMs = clock.monotonicMs();
    let bytes = 0;
    const tell = (end: Pick<RequestEvent, 'records' | 'requestId' | 'errorCode'>): void => {
      const durationMs = clock.monotonicMs() - startedMs;
      const { method, params } = call;
      onRequest({ method, part: partOf(params), attempt: attemptNumber, durationMs, bytes, ...end });
    };
    const onBytes = (more: number): void => void (bytes += more);
    try {
      const response = await traced({ ...call, onBytes }, attemptNumber);
      tell({ records: response.count, requestId: response.headers.requestId, errorCode: null });
      return response;
    } catch (error) {
      const known = error instanceof SafetySyncError ? error : undefined;
      tell({ records: null, requestId: known?.requestId, errorCode: known?.code ?? 'internal_error' });
      throw error;
    }
  };

  /** Asks once more, at once, where the service refused a token that was replaced meanwhile. */
  const ask = async ({ takeNext, ...call }: Unsent, attemptNumber: number): Promise<HttpResponse> => {
    const send = (withToken: string): Promise<HttpResponse> => {
      const taking = takeNext === undefined ? {} : { takeRecords: takeNext() };
      return observed({ ...call, ...taking, token: withToken }, attemptNumber);
    };
    const asked = token.take();
    call.meter.requests += 1;
    if (attemptNumber > 1) call.meter.retries += 1;
    try {
      return await send(asked);
    } catch (error) {
      const isRefused = error instanceof SafetySyncError && error.recovery === 'fail_run';
      if (!isRefused || !token.refuse(asked)) throw error;
      call.meter.requests += 1;
      call.meter.retries += 1;
      return await send(token.take());
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
    deliver?: DeliverRecords,
    abandoned?: AbortSignal,
  ): Promise<HttpResponse> => {
    const { method } = request;
    let responses = 0;
    const takeNext: Unsent['takeNext'] =
      deliver &&
      (() => {
        responses += 1;
        const number = responses;
        return (records) => deliver(records, number);
      });
    const stop = new AbortController();
    const sources = [closing.signal, request.signal, abandoned].filter((source) => source !== undefined);
    const onAbort = (): void => {
      const cause: unknown = sources.find((source) => source.aborted)?.reason;
      stop.abort(new SafetySyncError('interrupted', `${method}: stopped before its response`, { cause }));
    };
    if (sources.some((source) => source.aborted)) onAbort();
    // One signal is shared by all requests of a run; Node.js would warn of a leak from the eleventh on.
    setMaxListeners(0, ...sources);
    for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
    try {
      return await runRetrying({
        policy: options,
        fewRetries: request.fewRetries,
        signal: stop.signal,
        clock: options.clock,
        attempt: (attemptNumber) => attempt({ ...request, signal: stop.signal, takeNext }, attemptNumber),
        onRetry: (attemptNumber, delayMs, error) =>
          options.onRetry?.({ method, attempt: attemptNumber, delayMs, error }),
        coolingMs: limiter.coolingMs,
      });
    } catch (error) {
      if (error instanceof SafetySyncError)
        error.place = { entry: options.entry, tokenFile: options.tokenFile };
      throw error;
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  };

  return {
    list: (request) =>
      listParts(async (deliver, abandoned) => toListResponse(await run(request, deliver, abandoned))),
    page: async (request) => {
      let records: readonly Received[] = [];
      let newest = 0;
      const response = await run(request, (more, ofResponse) => {
        records = ofResponse === newest ? [...records, ...more] : more;
        newest = ofResponse;
        return Promise.resolve();
      });
      return { ...toListResponse(response), records };
    },
    fetchObject: async (request) => {
      const { envelope, headers } = await run(request);
      return {
        object: envelope[request.objectKey],
        envelope,
        requestId: headers.requestId,
        serviceTimeMs: headers.serviceTimeMs,
      };
    },
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
