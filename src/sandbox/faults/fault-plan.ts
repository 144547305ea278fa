import type { Random } from '../random.ts';
import type { RequestLogEntry } from '../request-log.ts';
import type { FaultController, FaultPredicate } from './fault-controller.ts';
import type { Fault, FaultKind, FaultOptions } from './fault.ts';
import { RateLimiter } from './rate-limiter.ts';

const GATEWAY_PAGES: readonly Extract<Fault, { kind: 'nonJson' }>[] = [
  { kind: 'nonJson' },
  { kind: 'nonJson', httpStatus: 503 },
  { kind: 'nonJson', httpStatus: 200 },
  { kind: 'nonJson', httpStatus: 200, body: '' },
  { kind: 'nonJson', httpStatus: 502, body: '' },
];

/** Chooses the fault of each request, seeded. */
export class FaultPlan implements FaultController {
  readonly #random: Random;
  readonly #counts: Record<FaultKind, number> = {
    rateLimit: 0,
    serverError: 0,
    error: 0,
    reset: 0,
    hang: 0,
    cut: 0,
    nonJson: 0,
    slow: 0,
    oddRecord: 0,
    oddResponse: 0,
    oddHttp: 0,
  };
  #options: FaultOptions = {};
  #script: (Fault | null)[] = [];
  #waiting: { predicate: FaultPredicate; fault: Fault; times: number }[] = [];
  #limiter: RateLimiter | undefined;
  #limited = 0;

  constructor(options: FaultOptions, random: Random) {
    this.#random = random;
    this.set(options);
  }

  get counts(): Readonly<Record<FaultKind, number>> {
    return this.#counts;
  }

  get limited(): number {
    return this.#limited;
  }

  set(options: FaultOptions): void {
    const merged = { ...this.#options, ...options };
    const { rateLimit = 0, serverError = 0, reset = 0, hang = 0, cut = 0, nonJson = 0, slow = 0 } = merged;
    const rates = [rateLimit, serverError, reset, hang, cut, nonJson, slow];
    const sum = rates.reduce((total, rate) => total + rate, 0);
    if (!rates.every((rate) => rate >= 0) || !(sum <= 1 + 1e-9)) {
      throw new RangeError(
        `faults: expected rates from 0 to 1 and together at most 1, got ${rates.join(', ')}`,
      );
    }
    this.#options = merged;
    if (options.limiter !== undefined) this.#limiter = new RateLimiter(options.limiter);
  }

  clear(): void {
    this.#options = {};
    this.#script = [];
    this.#waiting = [];
    this.#limiter = undefined;
  }

  script(faults: readonly (Fault | null)[]): void {
    this.#script.push(...faults);
  }

  next(predicate: FaultPredicate, fault: Fault, times = 1): void {
    this.#waiting.push({ predicate, fault, times });
  }

  choose(entry: RequestLogEntry): Fault | null {
    const fault = this.#choose(entry);
    if (fault !== null) this.#counts[fault.kind] += 1;
    return fault;
  }

  /** True when the token has used up its window. */
  isLimited(token: string, now: number): boolean {
    const isLimited = this.#limiter?.take(token, now) === false;
    if (isLimited) this.#limited += 1;
    return isLimited;
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
    const {
      rateLimit = 0,
      serverError = 0,
      reset = 0,
      hang = 0,
      cut = 0,
      nonJson = 0,
      slow = 0,
    } = this.#options;
    const random = this.#random;
    let roll = random.next();
    const falls = (rate: number): boolean => {
      const isHit = roll >= 0 && roll < rate;
      roll -= rate;
      return isHit;
    };
    if (falls(rateLimit)) return { kind: 'rateLimit' };
    if (falls(serverError)) return { kind: 'serverError' };
    if (falls(reset)) return { kind: 'reset' };
    if (falls(hang)) return { kind: 'hang' };
    if (falls(cut)) {
      return { kind: 'cut', framing: random.pick(['content-length', 'chunked']), share: random.next() };
    }
    if (falls(nonJson)) return random.pick(GATEWAY_PAGES);
    if (falls(slow)) return { kind: 'slow', durationMs: this.#options.slowMs ?? 1000 };
    return null;
  }
}
