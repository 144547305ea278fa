import type { ResponseOddity, RecordOddity } from './oddity.ts';

/** What can go wrong with one request. */
export type Fault =
  | { kind: 'rateLimit' }
  | { kind: 'serverError' }
  /** Any error identifier, also one that the specification does not name, with the description given, whatever it is. */
  | { kind: 'error'; error: string; description?: unknown }
  /** The connection is destroyed before a byte of the response. */
  | { kind: 'reset' }
  /** The request is taken, and no response ever comes. */
  | { kind: 'hang' }
  /** The response ends after `share` (0..1, default 0.5) of its bytes. */
  | { kind: 'cut'; framing?: 'content-length' | 'chunked'; share?: number }
  /** Something between us and the service responds in its place. Default: a 502 page. */
  | { kind: 'nonJson'; httpStatus?: number; body?: string; headers?: Record<string, string> }
  /** The right response in `pieces` (default 10) over `durationMs` (default 1000) real ms. */
  | { kind: 'slow'; durationMs?: number; pieces?: number }
  /** One record of the response (`at`, modulo how many there are; default 0) is not as the others. */
  | { kind: 'oddRecord'; how: RecordOddity; at?: number }
  /** The response around the records is not as specified. */
  | { kind: 'oddResponse'; how: ResponseOddity }
  /** The right response under another HTTP status (default 500), or compressed although nobody may have asked for that. */
  | { kind: 'oddHttp'; httpStatus?: number; encoding?: 'gzip' };

export type FaultKind = Fault['kind'];

/** Faults that only `script` and `next` bring about. */
type ScriptedKind = 'error' | 'oddRecord' | 'oddResponse' | 'oddHttp';

/** Shares (0..1) of all requests; together at most 1. */
type FaultRates = Partial<Record<Exclude<FaultKind, ScriptedKind>, number>>;

export interface FaultOptions extends FaultRates {
  /** A real limiter: more than this many requests of one token in a window are refused. */
  limiter?: { requests: number; windowMs: number };
  /** Length of a `slow` response drawn by rate, real ms. Default 1000. */
  slowMs?: number;
}
