/** A fault of one request. */
export type Fault =
  | { kind: 'rateLimit' }
  | { kind: 'serverError' }
  /** Any error identifier, even one that the specification lacks, with the given description of any type. */
  | { kind: 'error'; error: string; description?: unknown }
  /** Closes the connection before the first byte of the response. */
  | { kind: 'reset' }
  /** Accepts the request and never responds. */
  | { kind: 'hang' }
  /** Ends the response after `share` (0..1, default 0.5) of its bytes. */
  | { kind: 'cut'; framing?: 'content-length' | 'chunked'; share?: number }
  /** A proxy responds in place of the service. Default: a 502 page. */
  | { kind: 'nonJson'; httpStatus?: number; body?: string; headers?: Record<string, string> }
  /** Sends the correct response in `pieces` (default 10) over `durationMs` (default 1000) real ms. */
  | { kind: 'slow'; durationMs?: number; pieces?: number };

export type FaultKind = Fault['kind'];

/** Faults that can be injected by a rate, in the order in which the plan compares them. `script` and `next` inject any. */
export const RATED_FAULTS = ['rateLimit', 'serverError', 'reset', 'hang', 'cut', 'nonJson', 'slow'] as const;

/** Shares (0..1) of all requests; at most 1 in total. */
type FaultRates = Partial<Record<(typeof RATED_FAULTS)[number], number>>;

export interface FaultOptions extends FaultRates {
  /** A pool of all tokens: more requests than these in a window make every request fail for as long as the window. */
  limiter?: { requests: number; windowMs: number };
  /** Duration of a `slow` response chosen by rate, real ms. Default 1000. */
  slowMs?: number;
}
