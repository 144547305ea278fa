/** The service's client for readers: lists and objects, with retries, within the limits, each request with a current token. */
import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { backoff } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { sleep } from '../../shared/time.ts';
import { markFailed, startSpan } from '../../shared/with-span.ts';
import { createHttp } from './http.ts';
import type { StartEnd } from './request-budget.ts';
import type {
  ApiClientOptions,
  ApiRequest,
  ClientPressure,
  ListPage,
  ObjectRequest,
  RequestEvent,
} from './requests.ts';
import { isAnswer, isRequestSpecific } from './response-errors.ts';
import { createRetries, type Retry } from './retries.ts';
import { createToken } from './token.ts';

export interface ApiClient {
  /** A list, or one page of it; without `listKey` a response of any other form. */
  page(request: ApiRequest): Promise<ListPage>;
  /** The property that holds the object. */
  fetchObject(request: ObjectRequest): Promise<unknown>;
  readonly pressure: ClientPressure;
  /** Requests that failed and are sent again. */
  readonly retries: readonly Retry[];
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

function endOf(error: unknown): StartEnd {
  if (!(error instanceof SafetySyncError)) return 'unanswered';
  if (error.code === 'rate_limit_exceeded') return 'refused';
  return isAnswer(error) ? 'answered' : 'unanswered';
}

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock, budget, mostRetries, retryMinDelayMs, retryMaxDelayMs } = options;
  const slots = pLimit(options.concurrency);
  const token = createToken(options);
  const http = createHttp(options, token.redact);
  const closing = new AbortController();
  const retries = createRetries(clock);
  let inFlight = 0;

  /** Sends one HTTP request, traces it in a span and reports it to `onRequest`. The span has no parameters, because they may be personal data. */
  async function send(
    request: ApiRequest,
    { sentToken, signal, attempt }: { sentToken: string; signal: AbortSignal; attempt: number },
  ): Promise<ListPage> {
    const { method, params } = request;
    const startedMs = clock.monotonicMs();
    let bytes = 0;
    const onBytes = (more: number): void => void (bytes += more);
    const span = startSpan(`request ${method}`, { 'rpc.method': method, 'safety_sync.attempt': attempt });
    let end: Pick<RequestEvent, 'records' | 'requestId' | 'errorCode'> | undefined;
    inFlight += 1;
    try {
      const page = await http.send(request, { token: sentToken, signal, onBytes });
      const records = page.records.length;
      end = { records, requestId: page.requestId, errorCode: null };
      span.setAttributes({
        'safety_sync.status': 'ok',
        'safety_sync.request_id': page.requestId,
        'safety_sync.records.read': records,
      });
      return page;
    } catch (error) {
      const known = error instanceof SafetySyncError ? error : undefined;
      const errorCode = known?.code ?? 'internal_error';
      end = { records: null, requestId: known?.requestId, errorCode };
      markFailed(span, errorCode);
      throw error;
    } finally {
      inFlight -= 1;
      span.end();
      const durationMs = clock.monotonicMs() - startedMs;
      if (end !== undefined)
        options.onRequest?.({ method, range: requestRange(params), attempt, durationMs, bytes, ...end });
    }
  }

  /** Repeats the request at once if the service refused the token and there is a new one. */
  async function ask(request: ApiRequest, signal: AbortSignal, attempt: number): Promise<ListPage> {
    const start = await budget.take(signal);
    const sentToken = token.take();
    request.meter.requests += 1;
    // Without a database the run fails by itself, and a probe ends by itself.
    const recordEnd = (end: StartEnd, retryAfterMs?: number) =>
      budget.recordEnd(start, end, retryAfterMs).catch(() => undefined);
    try {
      const page = await send(request, { sentToken, signal, attempt });
      retries.recordSuccess(request.method);
      await recordEnd('answered');
      return page;
    } catch (error) {
      const known = error instanceof SafetySyncError ? error : undefined;
      await recordEnd(endOf(error), known?.retryAfterMs);
      if (known?.code === 'rate_limit_exceeded') request.meter.throttled += 1;
      if (known?.recovery !== 'fail_run' || !token.refuse(sentToken)) throw error;
    }
    request.meter.retries += 1;
    return await ask(request, signal, attempt);
  }

  /** Only the error's `recovery` decides whether a request is repeated. */
  async function repeat(request: ApiRequest, signal: AbortSignal): Promise<ListPage> {
    const { method, meter, retries: own = mostRetries } = request;
    let failedMs: number | undefined;
    let attempts = 0;
    const attempt = (number: number): Promise<ListPage> => {
      attempts = number;
      if (number > 1) meter.retries += 1;
      return slots(() => ask(request, signal, number));
    };
    try {
      return await pRetry(attempt, {
        retries: mostRetries,
        // The delay is `shouldRetry`'s own, because the status shows it.
        minTimeout: 0,
        factor: 1,
        randomize: false,
        signal,
        onFailedAttempt: () => void (failedMs ??= clock.monotonicMs()),
        shouldRetry: async ({ error, attemptNumber }) => {
          if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') return false;
          const most = isRequestSpecific(error) ? own : mostRetries;
          if (attemptNumber > most) return false;
          const fullMs = backoff(attemptNumber, { firstMs: retryMinDelayMs, mostMs: retryMaxDelayMs });
          const drawnMs = (fullMs / 2) * (1 + Math.random());
          // After a refusal the budget waits as long as the service asks.
          const askedMs = error.code === 'rate_limit_exceeded' ? 0 : (error.retryAfterMs ?? 0);
          const delayMs = Math.min(retryMaxDelayMs, Math.max(drawnMs, askedMs));
          retries.record({ method, attempt: attemptNumber, attempts: most + 1, delayMs, error });
          options.onRetry?.({ method, attempt: attemptNumber, error });
          await sleep(delayMs, signal);
          return true;
        },
      });
    } catch (error) {
      if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') throw error;
      throw withAttempts(error, attempts, clock.monotonicMs() - (failedMs ?? 0));
    }
  }

  async function page(request: ApiRequest): Promise<ListPage> {
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
      await options.admit?.(method);
      return await repeat(request, stop.signal);
    } catch (error) {
      if (error instanceof SafetySyncError)
        error.tokenSource = { entry: options.entry, tokenFile: options.tokenFile };
      throw error;
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  }

  return {
    page,
    fetchObject: async (request) => (await page(request)).envelope[request.objectKey],
    get pressure() {
      return { inFlight, waiting: slots.activeCount + slots.pendingCount - inFlight };
    },
    get retries() {
      return retries.current;
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
