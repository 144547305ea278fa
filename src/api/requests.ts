/** The client's vocabulary: what it is made of, what it is asked, and what it tells. */
import type { ErrorCode, SafetySyncError } from '../shared/errors.ts';
import type { Received } from '../shared/received.ts';
import type { Clock } from '../shared/time.ts';
import type { Paging } from './envelope.ts';

export interface ApiClientOptions {
  /** May have a path and a trailing slash; `/v1/METHOD` is added. */
  readonly baseUrl: string;
  readonly token: string;
  /** The token as it stands now where it is kept; undefined: it is kept nowhere, or cannot be read. */
  readonly readToken?: (() => string | undefined) | undefined;
  /** A token that was read again is asked with from now on. */
  readonly onNewToken?: (token: string) => void;
  /** The account's name in the accounts file, and the file of its token: errors advise by them. */
  readonly entry?: string;
  readonly tokenFile?: string;
  /** Most requests in flight, from 1. */
  readonly concurrency: number;
  /** Evenly spaced upper bound; undefined is none. */
  readonly requestsPerMinute: number | undefined;
  readonly requestTimeoutMs: number;
  /** Retries after the first attempt. */
  readonly retryAttempts: number;
  /** The most that the first retry waits; doubled with every further one. Also the shortest cool-down. */
  readonly retryMinDelayMs: number;
  /** Bounds every wait, also one that a Retry-After header asks for. */
  readonly retryMaxDelayMs: number;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onRetry?: (event: RetryEvent) => void;
  /** Every request that got a response, or none. */
  readonly onRequest?: (event: RequestEvent) => void;
  readonly userAgent: string;
}

/** What one reader's requests cost. The client counts into it as things happen, also when the request fails in the end. */
export interface RequestMeter {
  /** HTTP requests sent, repeated ones included. */
  requests: number;
  /** Those of them that repeated a failed one. */
  retries: number;
  /** The service's identifier of the newest response. */
  lastRequestId: string | undefined;
  /** Bytes of response bodies as they came over the wire (compressed where the service compresses). */
  bytes: number;
  /** Responses that said "rate limit exceeded". */
  throttled: number;
}

export function createRequestMeter(): RequestMeter {
  return { requests: 0, retries: 0, lastRequestId: undefined, bytes: 0, throttled: 0 };
}

interface Request {
  /** The last part of the path, as the specification names it: `followups.list`. */
  readonly method: string;
  /** Without the token: the client adds it. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly meter: RequestMeter;
  readonly signal?: AbortSignal | undefined;
  /** Errors that are not worth as many retries as others. */
  readonly fewRetries?: FewRetries | undefined;
}

export interface ListRequest extends Request {
  /** The property of the response that holds the list. */
  readonly listKey: string;
  /** Fields of an element that are looked at before it is parsed. */
  readonly fields?: readonly string[];
}

export interface ObjectRequest extends Request {
  /** The property of the response that holds what was asked for. */
  readonly objectKey: string;
}

export interface FewRetries {
  readonly codes: ReadonlySet<ErrorCode>;
  /** Retries while nothing but these comes. */
  readonly retries: number;
}

/** `restart`: the response broke in the middle and is asked for again; everything that the call yielded so far is void. */
export type ListPart =
  { readonly kind: 'records'; readonly records: readonly Received[] } | { readonly kind: 'restart' };

interface ServiceResponse {
  /** The whole response, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
  /** The response's Date header, ms since 1970: the other side's clock. */
  readonly serviceTimeMs: number | undefined;
}

export interface ListResponse extends ServiceResponse {
  /** Elements of the list, whatever they were. */
  readonly count: number;
  /** Undefined where the response has no paging object. */
  readonly paging: Paging | undefined;
  readonly responseTimeMs: number | undefined;
}

export interface ListPage extends ListResponse {
  readonly records: readonly Received[];
}

export interface ObjectResponse extends ServiceResponse {
  readonly object: unknown;
}

export interface ClientPressure {
  readonly inFlight: number;
  /** Requests that wait for a slot, a cool-down or the requests-per-minute bound (not for their own retry delay). */
  readonly waiting: number;
  readonly concurrencyNow: number;
  /** ms since 1970 by our clock; undefined while nothing cools down. */
  readonly coolingUntilMs: number | undefined;
}

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
  /** Of the response's body, as they came over the wire. */
  readonly bytes: number;
  /** Elements of the list; null: there is no response, or it is no success. */
  readonly records: number | null;
  readonly requestId: string | undefined;
  readonly errorCode: ErrorCode | null;
}
