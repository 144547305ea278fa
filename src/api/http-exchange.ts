import { Pool } from 'undici';
import { MINUTE_MS, SECOND_MS } from '../shared/time.ts';
import type { Clock } from '../shared/time.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { stringifyExactJson } from '../shared/exact-json.ts';
import { buildAnswerFailure, buildServiceError } from './answer-failure.ts';
import type { AnswerContext } from './answer-failure.ts';
import { readAnswerHeaders } from './answer-headers.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import { readAnswer, UnusableAnswer } from './answer-reader.ts';
import { ACCEPTED_ENCODINGS } from './body-chunks.ts';
import type { CutAnswer } from './element-cutter.ts';
import { readVerdict } from './envelope.ts';
import type { RecordSink } from './record-sink.ts';
import { buildRequestFailure } from './request-failure.ts';
import type { RequestMeter } from './request-meter.ts';
import type { Redact } from './token-redactor.ts';
import { createWaitingBudget } from './waiting-budget.ts';

export interface HttpExchangeOptions {
  readonly baseUrl: string;
  readonly token: string;
  readonly connections: number;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly redact: Redact;
}

export interface Call {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The list whose elements go to the sink; undefined: everything is envelope. */
  readonly listKey: string | undefined;
  /** The property that a usable answer has; undefined: any will do. */
  readonly objectKey: string | undefined;
  readonly sink: RecordSink | undefined;
  readonly meter: RequestMeter;
  /** Hears of the bytes of this answer; the meter is shared by all requests of a reader. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** A successful answer (`ok: true`). */
export interface Answer extends CutAnswer {
  readonly headers: AnswerHeaders;
}

/** Sends one request and reads its answer. Everything that goes wrong is a SafetySyncError. */
export interface HttpExchange {
  call(call: Call): Promise<Answer>;
  close(): Promise<void>;
}

/** undici waits for a fraction less than the service announces, so an idle connection is not used as it closes. */
const KEEP_ALIVE_MS = 4 * SECOND_MS;

function createPool(options: HttpExchangeOptions): Pool {
  return new Pool(new URL(options.baseUrl).origin, {
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MINUTE_MS,
    // Both are measured by the waiting budget, which does not count our own time.
    headersTimeout: 0,
    bodyTimeout: 0,
    // TLS 1.2: specification, "Common protocol".
    connect: { timeout: options.requestTimeoutMs, minVersion: 'TLSv1.2' },
  });
}

export function createHttpExchange(options: HttpExchangeOptions): HttpExchange {
  const { redact, clock } = options;
  const base = new URL(options.baseUrl);
  const pathPrefix = `${base.pathname.replace(/\/+$/, '')}/v1/`;
  const pool = createPool(options);
  const requestHeaders = {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': ACCEPTED_ENCODINGS,
    'user-agent': options.userAgent,
  };

  const call = async (request: Call): Promise<Answer> => {
    const { method, params, meter, signal } = request;
    const ended = new AbortController();
    const onAbort = (): void => {
      ended.abort(signal.reason);
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    let headers: AnswerHeaders | undefined;
    const budget = createWaitingBudget({
      timeoutMs: options.requestTimeoutMs,
      clock,
      onExhausted: () => {
        const what = headers === undefined ? 'no answer' : 'the answer did not go on';
        const message = `${method}: ${what} within ${options.requestTimeoutMs} ms of waiting`;
        ended.abort(new SafetySyncError('request_timeout', message, { requestId: headers?.requestId }));
      },
    });
    try {
      budget.startWaiting();
      const response = await pool
        .request({
          method: 'POST',
          path: `${pathPrefix}${encodeURIComponent(method)}`,
          headers: requestHeaders,
          body: stringifyExactJson({ ...params, token: options.token }),
          signal: ended.signal,
        })
        .finally(() => {
          budget.stopWaiting(0);
        });
      headers = readAnswerHeaders(response.headers, redact, clock.now());
      meter.lastRequestId = headers.requestId ?? meter.lastRequestId;
      budget.beginBody();
      // Destroying a body that still arrives is told as an error of the body; the reader has its own.
      response.body.on('error', () => undefined);
      const context: AnswerContext = { method, params, status: response.statusCode, headers, redact };
      const answer = await readAnswer({
        body: response.body,
        contentEncoding: headers.contentEncoding,
        listKey: request.listKey,
        sink: request.sink,
        budget,
        onReceived: (bytes) => {
          meter.bytes += bytes;
          request.onBytes?.(bytes);
        },
      }).catch((error: unknown) => {
        if (ended.signal.aborted || !(error instanceof UnusableAnswer)) throw error;
        throw buildAnswerFailure(error.defect, error.head, context);
      });
      return accept(answer, request, context);
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason;
      if (error instanceof SafetySyncError) throw error;
      throw buildRequestFailure({
        method,
        origin: base.origin,
        error,
        redact,
        requestId: headers?.requestId,
        answerBegan: headers !== undefined,
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };

  return { call, close: () => pool.destroy() };
}

function accept(answer: CutAnswer, { listKey, objectKey }: Call, context: AnswerContext): Answer {
  const verdict = readVerdict(answer.envelope);
  if (verdict.kind === 'refusal') throw buildServiceError(verdict, context);
  const invalid = (message: string): SafetySyncError =>
    buildAnswerFailure({ code: 'response_invalid', message }, JSON.stringify(answer.envelope), context);
  if (verdict.kind === 'foreign') throw invalid(verdict.problem);
  if (listKey !== undefined && answer.listFound !== 'array') {
    throw invalid(answer.listFound === 'absent' ? `${listKey} is missing` : `${listKey} is not a list`);
  }
  if (objectKey !== undefined && !Object.hasOwn(answer.envelope, objectKey)) {
    throw invalid(`${objectKey} is missing`);
  }
  return { ...answer, headers: context.headers };
}
