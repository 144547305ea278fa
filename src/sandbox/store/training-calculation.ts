import type { Employee } from '../records.ts';

export interface TrainingCalculation {
  /** Time of the calculation, ms; kept while it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

/** The cache key of all requests, when requests are not cached separately. */
const FOR_ALL = '';

/** "Results are cached for 15 minutes": a frozen result that is served in pages. */
export class TrainingCache {
  readonly #calculate: () => readonly Employee[];
  readonly #clock: () => number;
  readonly #cacheMs: number;
  readonly #kept = new Map<string, { madeAt: number; calculation: TrainingCalculation }>();

  constructor(options: { calculate: () => readonly Employee[]; clock: () => number; cacheMs: number }) {
    this.#calculate = options.calculate;
    this.#clock = options.clock;
    this.#cacheMs = options.cacheMs;
  }

  current(request = FOR_ALL): TrainingCalculation {
    const now = this.#clock();
    for (const [key, { madeAt, calculation }] of this.#kept) {
      // A result from the future is discarded: the clock was set back.
      if (now < madeAt || now - calculation.lastUpdated >= this.#cacheMs) this.#kept.delete(key);
    }
    return this.#kept.get(request)?.calculation ?? this.#keep(request, now);
  }

  /** Discards the cached result. `lastUpdated` can simulate a clock that went back. */
  recalculate(lastUpdated = this.#clock()): TrainingCalculation {
    this.#kept.clear();
    return this.#keep(FOR_ALL, lastUpdated);
  }

  #keep(request: string, lastUpdated: number): TrainingCalculation {
    const calculation = { lastUpdated, employees: this.#calculate() };
    this.#kept.set(request, { madeAt: this.#clock(), calculation });
    return calculation;
  }
}
