import { setMaxListeners } from 'node:events';
import { type ErrorCode, SafetySyncError } from '../shared/errors.ts';
import type { Clock } from '../shared/time.ts';
import { withSpan } from '../shared/with-span.ts';
import { createChannel } from './channel.ts';
import { readPaging } from './envelope.ts';
import { createHttpExchange } from './http-exchange.ts';
import type { Answer, Call } from './http-exchange.ts';
import { createLimiter } from './limiter.ts';
import type { RecordSink } from './record-sink.ts';
import { createRequestGate } from './request-gate.ts';
import type {
  ClientPressure,
  ListAnswer,
  ListPage,
  ListPart,
  ListRequest,
  ObjectAnswer,
  ObjectRequest,
} from './requests.ts';
import { partOf } from './request-shape.ts';
import { type FewRetries, runRetrying } from './retrying.ts';
import { createTokenRedactor } from './token-redactor.ts';

export type { ListAnswer } from './requests.ts';

export interface RetryEvent {
  readonly method: string;
  /** The one that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: SafetySyncError;
}

export interface RequestEvent {
  readonly method: string;
  /** Which part was asked for: page, limit and bounds of time. Nothing that tells of a person, and no token. */
  readonly part: Readonly<Record<string, number>>;
  readonly attempt: number;
  readonly durationMs: number;
  /** Of the answer's body, as they came over the wire. */
  readonly bytes: number;
  /** Elements of the list; null: there is no answer, or it is no success. */
  readonly records: number | null;
  readonly requestId: string | undefined;
  readonly errorCode: ErrorCode | null;
}

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
  list(request: ListRequest): AsyncGenerator<ListPart, ListAnswer, undefined>;
  /** A list that fits into memory: the service's own limits bound a page. */
  page(request: ListRequest): Promise<ListPage>;
  /** `list`, pushed; rejects with a SafetySyncError or the sink's error. */
  fetchList(request: ListRequest & { readonly sink: RecordSink }): Promise<ListAnswer>;
  fetchObject(request: ObjectRequest): Promise<ObjectAnswer>;
  readonly pressure: ClientPressure;
  /** Ends everything at once: what is still under way is rejected as `interrupted`. */
  close(): Promise<void>;
}

export interface ApiClientOptions {
  /** May have a path and a trailing slash; `/v1/METHOD` is added. */
  readonly baseUrl: string;
  readonly token: string;
  /** The account's name in the accounts file: errors advise by it. */
  readonly entry?: string;
  /** Most requests in flight, from 1. */
  readonly concurrency: number;
  readonly requestsPerMinute: number | undefined;
  readonly requestTimeoutMs: number;
  /** Retries after the first attempt. */
  readonly retryAttempts: number;
  readonly retryMinDelayMs: number;
  /** Bounds every wait, also one that a Retry-After header asks for. */
  readonly retryMaxDelayMs: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random?: () => number;
  readonly onRetry?: (event: RetryEvent) => void;
  /** Every request that was answered, or not. */
  readonly onRequest?: (event: RequestEvent) => void;
  readonly userAgent: string;
}

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock, random = Math.random } = options;
  const limiter = createLimiter({
    concurrency: options.concurrency,
    requestsPerMinute: options.requestsPerMinute,
    minCoolDownMs: options.retryMinDelayMs,
    maxCoolDownMs: options.retryMaxDelayMs,
    clock,
    random,
  });
  const gate = createRequestGate(limiter);
  const exchange = createHttpExchange({
    baseUrl: options.baseUrl,
    token: options.token,
    connections: options.concurrency,
    requestTimeoutMs: options.requestTimeoutMs,
    clock,
    userAgent: options.userAgent,
    redact: createTokenRedactor(options.token),
  });
  const closing = new AbortController();

  /** What is asked with is in no span: it may tell more than a tracing service should know. */
  const traced = (call: Call, attemptNumber: number): Promise<Answer> => {
    const attributes = { 'rpc.method': call.method, 'safety_sync.attempt': attemptNumber };
    return withSpan(`request ${call.method}`, attributes, async (span) => {
      const answer = await exchange.call(call);
      span.setAttributes({
        'safety_sync.status': 'ok',
        'safety_sync.request_id': answer.headers.requestId,
        'safety_sync.records.read': answer.count,
      });
      return answer;
    });
  };

  const observed = async (call: Call, attemptNumber: number): Promise<Answer> => {
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
      const answer = await traced({ ...call, onBytes }, attemptNumber);
      tell({ records: answer.count, requestId: answer.headers.requestId, errorCode: null });
      return answer;
    } catch (error) {
      const known = error instanceof SafetySyncError ? error : undefined;
      tell({ records: null, requestId: known?.requestId, errorCode: known?.code ?? 'internal_error' });
      throw error;
    }
  };

  const attempt = (call: Call, attemptNumber: number): Promise<Answer> =>
    gate.run(async (ordinal) => {
      call.meter.requests += 1;
      if (attemptNumber > 1) call.meter.retries += 1;
      try {
        const answer = await observed(call, attemptNumber);
        limiter.noteSuccess(ordinal);
        return answer;
      } catch (error) {
        if (error instanceof SafetySyncError && error.code === 'rate_limit_exceeded') {
          call.meter.refusals += 1;
          limiter.noteRefusal(ordinal, error.retryAfterMs);
        }
        throw error;
      }
    }, call.signal);

  const run = async (
    request: Omit<Call, 'signal'> & {
      readonly signal?: AbortSignal | undefined;
      readonly abandoned?: AbortSignal;
      readonly fewRetries?: FewRetries;
    },
  ): Promise<Answer> => {
    const { method } = request;
    const stop = new AbortController();
    const sources = [closing.signal, request.signal, request.abandoned].filter(
      (source) => source !== undefined,
    );
    const onAbort = (): void => {
      const cause: unknown = sources.find((source) => source.aborted)?.reason;
      stop.abort(new SafetySyncError('interrupted', `${method}: stopped before its answer`, { cause }));
    };
    if (sources.some((source) => source.aborted)) onAbort();
    // One signal is shared by all requests of a run; Node.js would warn of a leak from the eleventh on.
    setMaxListeners(0, ...sources);
    for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
    try {
      const call: Call = { ...request, signal: stop.signal };
      return await runRetrying({
        policy: {
          retries: options.retryAttempts,
          minDelayMs: options.retryMinDelayMs,
          maxDelayMs: options.retryMaxDelayMs,
          random,
        },
        fewRetries: request.fewRetries,
        signal: stop.signal,
        attempt: (attemptNumber) => attempt(call, attemptNumber),
        onRetry: (attemptNumber, delayMs, error) =>
          options.onRetry?.({ method, attempt: attemptNumber, delayMs, error }),
        coolingMs: limiter.coolingMs,
      });
    } catch (error) {
      if (error instanceof SafetySyncError) error.entry = options.entry;
      throw error;
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  };

  async function* list(request: ListRequest): AsyncGenerator<ListPart, ListAnswer, undefined> {
    const channel = createChannel<ListPart>();
    const abandoned = new AbortController();
    let hasYielded = false;
    const sink: RecordSink = {
      restart: () => (hasYielded ? channel.put({ kind: 'restart' }) : undefined),
      records: (records) => {
        hasYielded = true;
        return channel.put({ kind: 'records', records });
      },
    };
    const answered = run({ ...request, sink, objectKey: undefined, abandoned: abandoned.signal });
    const ended = answered.then(channel.close, channel.close);
    try {
      for (let part = await channel.take(); part !== undefined; part = await channel.take()) yield part;
      const { envelope, count, headers } = await answered;
      return {
        count,
        envelope,
        paging: readPaging(envelope),
        requestId: headers.requestId,
        serviceTimeMs: headers.serviceTimeMs,
        responseTimeMs: headers.responseTimeMs,
      };
    } finally {
      abandoned.abort();
      channel.close();
      await ended;
    }
  }

  return {
    list,
    page: async (request) => {
      const parts = list(request);
      let records: readonly unknown[] = [];
      let next = await parts.next();
      for (; next.done !== true; next = await parts.next()) {
        const part = next.value;
        if (part.kind === 'restart') records = [];
        else records = records.length === 0 ? part.records : [...records, ...part.records];
      }
      return { ...next.value, records };
    },
    fetchList: async ({ sink, ...request }) => {
      await sink.restart();
      const parts = list(request);
      try {
        let next = await parts.next();
        for (; next.done !== true; next = await parts.next()) {
          if (next.value.kind === 'restart') await sink.restart();
          else await sink.records(next.value.records);
        }
        return next.value;
      } finally {
        await parts.return(undefined as never);
      }
    },
    fetchObject: async (request) => {
      const { envelope, headers } = await run({ ...request, listKey: undefined, sink: undefined });
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
        inFlight: gate.inFlight,
        waiting: gate.waiting,
        concurrencyNow: limiter.concurrencyNow,
        coolingUntilMs: coolingMs > 0 ? clock.now() + coolingMs : undefined,
      };
    },
    close: async () => {
      closing.abort();
      await exchange.close();
    },
  };
}
