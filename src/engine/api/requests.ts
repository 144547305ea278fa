/** The client's options, requests, responses and events. */
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Received } from '../../shared/received.ts';
import type { Clock } from '../../shared/time.ts';
import type { RequestBudget } from './request-budget.ts';

export interface ApiClientOptions {
  /** May have a path and a trailing slash; `/v1/METHOD` is added. */
  readonly baseUrl: string;
  readonly token: string;
  /** Reads the token from its file; undefined: it has no file, or cannot be read. */
  readonly readToken?: (() => string | undefined) | undefined;
  /** Called when the client begins to use another token. */
  readonly onNewToken?: (token: string) => void;
  /** Most requests in flight, from 1. */
  readonly concurrency: number;
  /** Decides when a request may start. */
  readonly budget: RequestBudget;
  /** For a whole request, from its start to the end of the response; lists that come whole are given twice as much. */
  readonly requestTimeoutMs: number;
  /** Most retries of a request, so its attempts are one more. */
  readonly mostRetries: number;
  /** The longest delay of the first retry; doubled with each further one. */
  readonly retryMinDelayMs: number;
  /** Bounds every delay before a retry; not the pause after `rate_limit_exceeded`. */
  readonly retryMaxDelayMs: number;
  readonly clock: Clock;
  readonly onRetry?: (event: RetryEvent) => void;
  /** Called before each request of a caller, not before its retries; its failure is that of the request. */
  readonly admit?: ((method: string) => Promise<void>) | undefined;
  /** Called after every request; `error`: its code, null: it got its response. */
  readonly onRequest?: (request: RequestLine) => void;
  readonly userAgent: string;
}

/** Counters of one reader's requests. The client increments them as it goes, also when a request fails in the end. */
export type RequestMeter = ReturnType<typeof createRequestMeter>;

export const createRequestMeter = () => ({
  /** HTTP requests sent, repeated ones included. */
  requests: 0,
  /** Requests that repeated a failed one. */
  retries: 0,
  /** The service's identifier of the newest response. */
  lastRequestId: undefined as string | undefined,
  /** Responses with `rate_limit_exceeded`. */
  throttled: 0,
  /** Members of lists' responses with an unknown meaning. */
  unknownMembers: new Set<string>(),
});

export interface ApiRequest {
  /** The last segment of the path, as the specification names it: `followups.list`. */
  readonly method: string;
  /** Without the token: the client adds it. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly meter: RequestMeter;
  readonly signal?: AbortSignal | undefined;
  /** Most retries after errors that may concern this request only; default: as many as after other errors. */
  readonly retries?: number | undefined;
  /** The list comes in one response, however long it is. */
  readonly comesWhole?: boolean;
  /** The property of the response that holds the list. */
  readonly listKey?: string;
  /** Fields of an element of the list that are looked at before it is parsed. */
  readonly fields?: readonly string[];
  /** The property of the response that holds the object. */
  readonly objectKey?: string;
}

export type ListRequest = ApiRequest & { readonly listKey: string };
export type ObjectRequest = ApiRequest & { readonly objectKey: string };

/** How many records there are; undefined where the response has no usable value. */
export interface Paging {
  readonly total: number | undefined;
  readonly lastPage: number | undefined;
}

/** A successful response (`ok: true`). */
export interface ListPage {
  /** Elements of the list, of any type. */
  readonly records: readonly Received[];
  /** The whole response, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  /** undefined: the response has no paging object. */
  readonly paging: Paging | undefined;
  /** The response's Date header, ms since 1970: the service's clock. */
  readonly serviceTimeMs: number | undefined;
  readonly requestId: string | undefined;
}

interface RetryEvent {
  readonly method: string;
  /** The one that failed, from 1. */
  readonly attempt: number;
  readonly error: SafetySyncError;
}

interface RequestLine {
  readonly method: string;
  /** From 1. */
  readonly attempt: number;
  readonly durationMs: number;
  readonly records: number;
  readonly requestId: string | undefined;
  readonly error: string | null;
}
