import type { Random } from '../random.ts';
import type { RequestLogEntry } from '../request-log.ts';
import { type Fault, type FaultKind, type FaultOptions, RATED_FAULTS } from './fault.ts';

const GATEWAY_PAGES: readonly Extract<Fault, { kind: 'nonJson' }>[] = [
  { kind: 'nonJson' },
  { kind: 'nonJson', httpStatus: 503 },
  { kind: 'nonJson', httpStatus: 200 },
  { kind: 'nonJson', httpStatus: 200, body: '' },
  { kind: 'nonJson', httpStatus: 502, body: '' },
];

type FaultPredicate = (entry: RequestLogEntry) => boolean;

/** Chooses the fault of each request, seeded. */
export class FaultPlan {
  readonly #random: Random;
  readonly #counts: Record<FaultKind, number> = {
    ...{ rateLimit: 0, serverError: 0, error: 0, reset: 0, hang: 0, cut: 0, nonJson: 0, slow: 0 },
  };
  #options: FaultOptions = {};
  #script: (Fault | null)[] = [];
  #waiting: { predicate: FaultPredicate; fault: Fault; times: number }[] = [];
  /** Times of the accepted requests in the window of the limiter. */
  #accepted: number[] = [];
  #lockedUntil = 0;

  constructor(options: FaultOptions, random: Random) {
    this.#random = random;
    this.set(options);
  }

  /** Injected faults by kind. */
  get counts(): Readonly<Record<FaultKind, number>> {
    return this.#counts;
  }

  /** Replaces the given rates and the limiter; others remain. */
  set(options: FaultOptions): void {
    const merged = { ...this.#options, ...options };
    const rates = RATED_FAULTS.map((kind) => merged[kind] ?? 0);
    const sum = rates.reduce((total, rate) => total + rate, 0);
    if (!rates.every((rate) => rate >= 0) || !(sum <= 1 + 1e-9)) {
      throw new RangeError(
        `faults: expected rates from 0 to 1 and together at most 1, got ${rates.join(', ')}`,
      );
    }
    this.#options = merged;
    if (options.limiter !== undefined) {
      this.#accepted = [];
      this.#lockedUntil = 0;
    }
  }

  /** Removes all faults: rates, limiter, script and pending `next` faults. Keeps the counters. */
  clear(): void {
    this.#options = {};
    this.#script = [];
    this.#waiting = [];
  }

  /** One entry per request, in order; takes precedence over rates. null is a request without a fault. */
  script(faults: readonly (Fault | null)[]): void {
    this.#script.push(...faults);
  }

  /** Injects a fault into the next `times` matching requests. */
  next(predicate: FaultPredicate, fault: Fault, times = 1): void {
    this.#waiting.push({ predicate, fault, times });
  }

  choose(entry: RequestLogEntry): Fault | null {
    const fault = this.#choose(entry);
    if (fault !== null) this.#counts[fault.kind] += 1;
    return fault;
  }

  /** As observed: one request too many locks everybody out, and the count begins anew after that. */
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

  #choose(entry: RequestLogEntry): Fault | null {
    const scripted = this.#script.shift();
    if (scripted !== undefined) return scripted;
    const waiting = this.#waiting.find((item) => item.predicate(entry));
    if (waiting !== undefined) {
      waiting.times -= 1;
      if (waiting.times <= 0) this.#waiting = this.#waiting.filter((item) => item !== waiting);
      return waiting.fault;
    }
    return this.#draw();
  }

  #draw(): Fault | null {
    const random = this.#random;
    let roll = random.next();
    const drawn = RATED_FAULTS.find((kind) => {
      const rate = this.#options[kind] ?? 0;
      const isHit = roll >= 0 && roll < rate;
      roll -= rate;
      return isHit;
    });
    switch (drawn) {
      case undefined:
        return null;
      case 'cut':
        return { kind: drawn, framing: random.pick(['content-length', 'chunked']), share: random.next() };
      case 'nonJson':
        return random.pick(GATEWAY_PAGES);
      case 'slow':
        return { kind: drawn, durationMs: this.#options.slowMs ?? 1000 };
      default:
        return { kind: drawn };
    }
  }
}
