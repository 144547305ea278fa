import type { ErrorId } from '../service/service-error.ts';

/** What can go wrong with one request. */
export type Fault =
  | { kind: 'rateLimit' }
  | { kind: 'serverError' }
  /** Any error identifier, with the description given. */
  | { kind: 'error'; error: ErrorId; description?: string }
  /** The connection is destroyed before a byte of the answer. */
  | { kind: 'reset' }
  /** The request is taken and never answered. */
  | { kind: 'hang' }
  /** The answer ends after `share` (0..1, default 0.5) of its bytes. */
  | { kind: 'cut'; framing?: 'content-length' | 'chunked'; share?: number }
  /** Something between us and the service answers in its place. Default: a 502 page. */
  | { kind: 'nonJson'; httpStatus?: number; body?: string; headers?: Record<string, string> }
  /** The right answer in `pieces` (default 10) over `durationMs` (default 1000) real ms. */
  | { kind: 'slow'; durationMs?: number; pieces?: number };

export type FaultKind = Fault['kind'];

/** Shares (0..1) of all requests; together at most 1. */
export type FaultRates = Partial<Record<Exclude<FaultKind, 'error'>, number>>;

export interface FaultOptions extends FaultRates {
  /** A real limiter: more than this many requests of one token in a window are refused. */
  limiter?: { requests: number; windowMs: number };
  /** Length of a `slow` answer drawn by rate, real ms. Default 1000. */
  slowMs?: number;
}
