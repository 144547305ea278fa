/** The service's client for readers: lists and objects, with retries, within the limits, each request with a current token. */
import type { Received } from '../../shared/received.ts';
import { setMaxListeners } from 'node:events';
import { backoff } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { sleep } from '../../shared/time.ts';
import { markFailed, startSpan } from '../../shared/with-span.ts';
import { createHttp } from './http.ts';
import { createLimiter, createSemaphore } from './limiter.ts';
import type {
  ListEvents,
  ApiClientOptions,
  ApiRequest,
  ClientPressure,
  ListPage,
  ListRequest,
  ObjectRequest,
  RequestEvent,
} from './requests.ts';
import { isRequestSpecific } from './response-errors.ts';
import { createToken } from './token.ts';

export interface ApiClient {
  /**
   * Yields the records while their response arrives, and returns the rest of the response. The records count only
   * once the generator has returned. Nothing is read ahead of the consumer. A consumer that leaves the generator early
   * ends the request and frees its connection. While a `next` is pending, `return` waits for it, so only the signal ends
   * the request at once.
   *
   * The request stays in flight until its last records are taken. A consumer must not use this client in between, because with
   * a concurrency of 1 it would wait for itself.
   */
  list(request: ListRequest): ListEvents;
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

/** Parameters that select a range of a list. */
const RANGE_PARAMETERS = ['page', 'limit', 'updated_after', 'created_after', 'created_before'] as const;

function requestRange(params: ApiRequest['params']): Readonly<Record<string, number>> {
  const named = RANGE_PARAMETERS.flatMap((name) => {
    const value = params[name];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(named);
}

type RetryPolicy = Pick<ApiClientOptions, 'retryMinDelayMs' | 'retryMaxDelayMs' | 'random'>;

export function drawRetryDelayMs(policy: RetryPolicy, attemptNumber: number, retryAfterMs = 0): number {
  const { retryMinDelayMs: firstMs, retryMaxDelayMs: mostMs } = policy;
  return Math.max(backoff(attemptNumber, { firstMs, mostMs }, policy), Math.min(retryAfterMs, mostMs));
}

function withAttempts(error: SafetySyncError, attempts: number, repeatedForMs: number): SafetySyncError {
  const counted = attempts === 1 ? 'after the only attempt' : `after ${attempts} attempts`;
  return new SafetySyncError(error.code, `${error.message} (${counted})`, {
    cause: error.cause,
    advice: error.advice,
    requestId: error.requestId,
    retryAfterMs: error.retryAfterMs,
    repeatedForMs,
  });
}

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock } = options;
  const limiter = createLimiter(options);
  const semaphore = createSemaphore(limiter);
  const token = createToken(options);
  const http = createHttp(options, token.redact);
  const closing = new AbortController();

  /** Sends one HTTP request, traces it in a span and reports it to `onRequest`. The span has no parameters, because they may be personal data. */
  async function* send(
    request: ApiRequest,
    sentToken: string,
    signal: AbortSignal,
    attempt: number,
  ): ListEvents {
    const { method, params } = request;
    const startedMs = clock.monotonicMs();
    let bytes = 0;
    const onBytes = (more: number): void => void (bytes += more);
    const span = startSpan(`request ${method}`, { 'rpc.method': method, 'safety_sync.attempt': attempt });
    // Stays if the consumer leaves the list before its end.
    let end: Pick<RequestEvent, 'records' | 'requestId' | 'errorCode'> = {
      records: null,
      requestId: undefined,
      errorCode: 'interrupted',
    };
    try {
      const response = yield* http.send(request, { token: sentToken, signal, onBytes });
      end = { records: response.count, requestId: response.requestId, errorCode: null };
      span.setAttributes({
        'safety_sync.status': 'ok',
        'safety_sync.request_id': response.requestId,
        'safety_sync.records.read': response.count,
      });
      return response;
    } catch (error) {
      const known = error instanceof SafetySyncError ? error : undefined;
      end = { records: null, requestId: known?.requestId, errorCode: known?.code ?? 'internal_error' };
      throw error;
    } finally {
      if (end.errorCode !== null) markFailed(span, end.errorCode);
      span.end();
      const durationMs = clock.monotonicMs() - startedMs;
      options.onRequest?.({ method, range: requestRange(params), attempt, durationMs, bytes, ...end });
    }
  }

  /** Repeats the request at once if the service refused the token and a new one is available. */
  async function* ask(request: ApiRequest, signal: AbortSignal, attempt: number): ListEvents {
    for (let isRepeated = attempt > 1; ; isRepeated = true) {
      request.meter.requests += 1;
      if (isRepeated) {
        request.meter.retries += 1;
        yield { kind: 'restart' };
      }
      const sentToken = token.take();
      try {
        return yield* send(request, sentToken, signal, attempt);
      } catch (error) {
        const isRefused = error instanceof SafetySyncError && error.recovery === 'fail_run';
        if (!isRefused || !token.refuse(sentToken)) throw error;
      }
    }
  }

  async function* attempt(request: ApiRequest, signal: AbortSignal, attemptNumber: number): ListEvents {
    const ordinal = await semaphore.enter(signal);
    try {
      const response = yield* ask(request, signal, attemptNumber);
      limiter.recordSuccess(ordinal);
      return response;
    } catch (error) {
      if (error instanceof SafetySyncError && error.code === 'rate_limit_exceeded') {
        request.meter.throttled += 1;
        limiter.recordThrottled(ordinal, error.retryAfterMs);
      }
      throw error;
    } finally {
      semaphore.leave();
    }
  }

  /** Only the error's `recovery` decides whether a request is repeated. */
  async function* retry(request: ApiRequest, signal: AbortSignal): ListEvents {
    const { method, mostRetriesInARow = Infinity } = request;
    let failedMs: number | undefined;
    /** Attempts in a row that failed for this request only. */
    let inARow = 0;
    for (let attemptNumber = 1; ; attemptNumber += 1) {
      try {
        signal.throwIfAborted();
        return yield* attempt(request, signal, attemptNumber);
      } catch (error) {
        if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') throw error;
        failedMs ??= clock.monotonicMs();
        inARow = isRequestSpecific(error) ? inARow + 1 : 0;
        if (attemptNumber > options.mostRetries || inARow > mostRetriesInARow)
          throw withAttempts(error, attemptNumber, clock.monotonicMs() - failedMs);
        // A throttled response has begun a cool-down of all requests: its length is the delay.
        const delayMs =
          error.code === 'rate_limit_exceeded'
            ? limiter.coolingMs()
            : drawRetryDelayMs(options, attemptNumber, error.retryAfterMs);
        options.onRetry?.({ method, attempt: attemptNumber, delayMs, error });
        await sleep(delayMs, signal);
      }
    }
  }

  async function* list(request: ApiRequest): ListEvents {
    const { method } = request;
    const stop = new AbortController();
    const sources = [closing.signal, request.signal].filter((source) => source !== undefined);
    const onAbort = (): void => {
      const cause: unknown = sources.find((source) => source.aborted)?.reason;
      stop.abort(new SafetySyncError('interrupted', `${method}: stopped before its response`, { cause }));
    };
    if (sources.some((source) => source.aborted)) onAbort();
    // All requests of a run share one signal; Node.js would warn of a leak from the eleventh listener on.
    setMaxListeners(0, ...sources);
    for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
    try {
      return yield* retry(request, stop.signal);
    } catch (error) {
      if (error instanceof SafetySyncError)
        error.tokenSource = { entry: options.entry, tokenFile: options.tokenFile };
      throw error;
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  }

  async function page(request: ApiRequest): Promise<ListPage> {
    const events = list(request);
    let records: Received[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done === true) return { ...next.value, records };
      records = next.value.kind === 'restart' ? [] : [...records, ...next.value.records];
    }
  }

  return {
    list,
    page,
    fetchObject: async (request) => (await page(request)).envelope[request.objectKey],
    get pressure() {
      const coolingMs = limiter.coolingMs();
      return {
        inFlight: semaphore.inFlight,
        waiting: semaphore.waiting,
        concurrencyNow: limiter.concurrencyNow,
        coolingUntilMs: coolingMs > 0 ? clock.now() + coolingMs : null,
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
