/** What is asked of the client, and what it says of the response. */
import type { Paging } from './envelope.ts';
import type { RequestMeter } from './request-meter.ts';
import type { FewRetries } from './retrying.ts';

export interface ListRequest {
  /** The last part of the path, as the specification names it: `followups.list`. */
  readonly method: string;
  /** The property of the answer that holds the list. */
  readonly listKey: string;
  /** Without the token: the client adds it. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly meter: RequestMeter;
  readonly signal?: AbortSignal | undefined;
}

/** `restart`: the response broke in the middle and is asked for again; everything that the call yielded so far is void. */
export type ListPart =
  { readonly kind: 'records'; readonly records: readonly unknown[] } | { readonly kind: 'restart' };

export interface ListAnswer {
  /** Elements of the list, whatever they were. */
  readonly count: number;
  /** The whole answer, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  /** Undefined where the answer has no paging object. */
  readonly paging: Paging | undefined;
  readonly requestId: string | undefined;
  /** The answer's Date header, ms since 1970: the other side's clock. */
  readonly serviceTimeMs: number | undefined;
  readonly responseTimeMs: number | undefined;
}

export interface ListPage extends ListAnswer {
  readonly records: readonly unknown[];
}

export interface ObjectRequest {
  readonly method: string;
  /** The property of the answer that holds what was asked for. */
  readonly objectKey: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Errors that are not worth as many repetitions as others. */
  readonly fewRetries?: FewRetries;
  readonly meter: RequestMeter;
  readonly signal?: AbortSignal | undefined;
}

export interface ObjectAnswer {
  readonly object: unknown;
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
  readonly serviceTimeMs: number | undefined;
}

export interface ClientPressure {
  readonly inFlight: number;
  /** Requests that wait for a place, a cool-down or the requests-per-minute bound (not for their own retry delay). */
  readonly waiting: number;
  readonly concurrencyNow: number;
  /** ms since 1970 by our clock; undefined while nothing cools down. */
  readonly coolingUntilMs: number | undefined;
}
