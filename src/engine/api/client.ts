/** The service's client for readers: lists and objects, with retries, within the limits, each request with a current token. */
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { backoff } from '../../shared/backoff.ts';
import { SafetySyncError, type Wait } from '../../shared/errors.ts';
import { SERVICE_ERRORS } from '../../shared/service-errors.ts';
import { sleep } from '../../shared/time.ts';
import { withSpan } from '../../shared/with-span.ts';
import { createHttp } from './http.ts';
import type { StartEnd } from './request-budget.ts';
import type { ApiClientOptions, ApiRequest, ListPage, ObjectRequest } from './requests.ts';
import { isRequestSpecific } from './response-errors.ts';
import { createToken } from './token.ts';

export type ApiClient = ReturnType<typeof createApiClient>;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  EHOSTUNREACH: 'host unreachable',
  request_timeout: 'no response in time',
};

function reasonOf({ code, cause }: SafetySyncError): string {
  const system = (cause as { readonly code?: unknown } | undefined)?.code;
  return REASONS[typeof system === 'string' ? system : code] ?? REASONS[code] ?? code;
}

function endOf(error: unknown): StartEnd {
  if (!(error instanceof SafetySyncError)) return 'unanswered';
  const { code } = error;
  if (code === 'rate_limit_exceeded') return 'refused';
  const isOfService = Object.hasOwn(SERVICE_ERRORS, code) || code === 'service_error_unknown';
  return isOfService ? 'answered' : 'unanswered';
}

export function createApiClient(options: ApiClientOptions) {
  const { clock, budget, mostRetries, retryMinDelayMs, retryMaxDelayMs } = options;
  const slots = pLimit(options.concurrency);
  const token = createToken(options);
  const http = createHttp(options, token.redact);
  const closing = new AbortController();
  const waits = new Map<string, Wait>();

  /** Sends one HTTP request, in a span without the parameters, because they may be personal data. */
  async function send(
    request: ApiRequest,
    { sentToken, signal, attempt }: { sentToken: string; signal: AbortSignal; attempt: number },
  ): Promise<ListPage> {
    const { method } = request;
    const startedMs = clock.monotonicMs();
    const report = (records: number, requestId?: string, error: string | null = null): void => {
      const durationMs = clock.monotonicMs() - startedMs;
      options.onRequest?.({ method, attempt, durationMs, records, requestId, error });
    };
    const attributes = { 'rpc.method': method, 'safety_sync.attempt': attempt };
    return await withSpan(`request ${method}`, attributes, async (span) => {
      try {
        const page = await http.send(request, sentToken, signal);
        const { records, requestId } = page;
        report(records.length, requestId);
        waits.delete(method);
        span.setAttributes({
          'safety_sync.status': 'ok',
          'safety_sync.request_id': requestId,
          'safety_sync.records.read': records.length,
        });
        return page;
      } catch (error) {
        if (error instanceof SafetySyncError) report(0, error.requestId, error.code);
        throw error;
      }
    });
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
    let attempts = 0;
    const attempt = (number: number): Promise<ListPage> => {
      attempts = number;
      if (number > 1) meter.retries += 1;
      return slots(() => ask(request, signal, number));
    };
    try {
      return await pRetry(attempt, {
        retries: mostRetries,
        // The delay is `shouldRetry`'s own, because the status shows its end.
        minTimeout: 0,
        signal,
        shouldRetry: async ({ error, attemptNumber }) => {
          if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') return false;
          const most = isRequestSpecific(error) ? own : mostRetries;
          if (attemptNumber > most) return false;
          const fullMs = backoff(attemptNumber, { firstMs: retryMinDelayMs, mostMs: retryMaxDelayMs });
          // After a refusal the next attempt waits in `budget.take`, as long as the service asks.
          const askedMs = error.code === 'rate_limit_exceeded' ? 0 : (error.retryAfterMs ?? 0);
          const delayMs = Math.min(retryMaxDelayMs, Math.max((fullMs / 2) * (1 + Math.random()), askedMs));
          const sinceMs = waits.get(method)?.sinceMs ?? clock.now();
          const counted = { attempt: attemptNumber, attempts: most + 1 };
          const times = { sinceMs, nextMs: clock.now() + delayMs };
          waits.set(method, { method, code: error.code, reason: reasonOf(error), ...counted, ...times });
          options.onRetry?.({ method, attempt: attemptNumber, error });
          await sleep(delayMs, signal);
          return true;
        },
      });
    } catch (error) {
      if (error instanceof SafetySyncError && error.recovery === 'retry')
        error.message += attempts === 1 ? ' (after the only attempt)' : ` (after ${attempts} attempts)`;
      throw error;
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
    for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
    try {
      await options.admit?.(method);
      return await repeat(request, stop.signal);
    } finally {
      for (const source of sources) source.removeEventListener('abort', onAbort);
    }
  }

  return {
    /** A list, or one page of it; without `listKey` a response of any other form. */
    page,
    /** The property that holds the object. */
    fetchObject: async (request: ObjectRequest): Promise<unknown> =>
      (await page(request)).envelope[request.objectKey],
    /** The newest failed attempt of each method, until a request of it succeeds. */
    get waits(): readonly Wait[] {
      return [...waits.values()];
    },
    /** The service refused the token, and its file has another one. */
    get hasNewToken() {
      return token.isReplaced;
    },
    /** Ends all requests at once; they are rejected as `interrupted`. */
    close: async () => {
      closing.abort();
      await http.close();
    },
  };
}
