import type { Random } from '../random.ts';
import type { RequestLogEntry } from '../request-log.ts';

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
  /** Closes the connection after `share` (0..1, default 0.5) of the bytes of the response. */
  | { kind: 'cut'; share?: number }
  /** A proxy responds in place of the service. Default: a 502 page. */
  | { kind: 'nonJson'; httpStatus?: number; body?: string; headers?: Record<string, string> }
  /** Sends the correct response in ten pieces over `durationMs` (default 1000) real ms. */
  | { kind: 'slow'; durationMs?: number };

/** Faults that can be injected by a rate, in the order in which the plan compares them. `next` injects any. */
const RATED_FAULTS = ['rateLimit', 'serverError', 'reset', 'hang', 'cut', 'nonJson', 'slow'] as const;

export interface FaultOptions extends Partial<Record<(typeof RATED_FAULTS)[number], number>> {
  /** A pool of all tokens: more requests than these in a window make every request fail for as long as the window. */
  limiter?: { requests: number; windowMs: number };
  /** Duration of a `slow` response chosen by rate, real ms. Default 1000. */
  slowMs?: number;
}

type FaultPredicate = (entry: RequestLogEntry) => boolean;

/** Chooses the fault of each request, seeded. */
export class FaultPlan {
  readonly #random: Random;
  #options: FaultOptions;
  #waiting: { predicate: FaultPredicate; fault: Fault; times: number }[] = [];
  /** Times of the accepted requests in the window of the limiter. */
  #accepted: number[] = [];
  #lockedUntil = 0;

  constructor(options: FaultOptions, random: Random) {
    this.#random = random;
    this.#options = options;
  }

  /** Replaces the given rates (shares of all requests) and the limiter; others remain. */
  set(options: FaultOptions): void {
    this.#options = { ...this.#options, ...options };
  }

  /** Removes all faults: rates, limiter and pending `next` faults. */
  clear(): void {
    this.#options = {};
    this.#waiting = [];
  }

  /** Injects a fault into the next `times` matching requests; takes precedence over rates. */
  next(predicate: FaultPredicate, fault: Fault, times = 1): void {
    this.#waiting.push({ predicate, fault, times });
  }

  choose(entry: RequestLogEntry): Fault | null {
    const waiting = this.#waiting.find((item) => item.predicate(entry));
    if (waiting === undefined) return this.#draw();
    waiting.times -= 1;
    if (waiting.times <= 0) this.#waiting = this.#waiting.filter((item) => item !== waiting);
    return waiting.fault;
  }

  /** As observed: one request too many blocks the whole account, and the count restarts after the block. */
  isLimited(now: number): boolean {
    const { limiter } = this.#options;
    if (limiter === undefined) return false;
    const { requests, windowMs } = limiter;
    this.#accepted = this.#accepted.filter((at) => now - at < windowMs);
    const isLocked = now < this.#lockedUntil;
    if (!isLocked && this.#accepted.length < requests) {
      this.#accepted.push(now);
      return false;
    }
    if (!isLocked) this.#lockedUntil = now + windowMs;
    this.#accepted = [];
    return true;
  }

  #draw(): Fault | null {
    const random = this.#random;
    let roll = random.next();
    const kind = RATED_FAULTS.find((one) => (roll -= this.#options[one] ?? 0) < 0);
    switch (kind) {
      case undefined:
        return null;
      case 'cut':
        return { kind, share: random.next() };
      case 'nonJson':
        return random.pick([{ kind }, { kind, httpStatus: 503 }, { kind, httpStatus: 200, body: '' }]);
      case 'slow':
        return { kind, durationMs: this.#options.slowMs ?? 1000 };
      default:
        return { kind };
    }
  }
}
