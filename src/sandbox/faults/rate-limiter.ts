/**
 * Implements "A per-token request limit exists"; its value and window are not specified. Here: at most `requests` accepted
 * ones in any `windowMs`. Refused requests do not count.
 */
export class RateLimiter {
  readonly #requests: number;
  readonly #windowMs: number;
  readonly #accepted = new Map<string, number[]>();

  constructor(options: { requests: number; windowMs: number }) {
    this.#requests = options.requests;
    this.#windowMs = options.windowMs;
  }

  take(token: string, now: number): boolean {
    const recent = (this.#accepted.get(token) ?? []).filter((at) => now - at < this.#windowMs && at <= now);
    this.#accepted.set(token, recent);
    if (recent.length >= this.#requests) return false;
    recent.push(now);
    return true;
  }
}
