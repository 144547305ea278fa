import type { Employee } from '../records.ts';

export interface TrainingCalculation {
  /** ms; when it was made, for as long as it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

/** The calculation that everybody gets, where the service does not calculate for each request apart. */
const FOR_ALL = '';

/** "Results are cached for 15 minutes": a frozen result, from which pages are cut. */
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
      // A clock that was put back has made none of what seems to come from its future.
      if (now < madeAt || now - calculation.lastUpdated >= this.#cacheMs) this.#kept.delete(key);
    }
    return this.#kept.get(request)?.calculation ?? this.#keep(request, now);
  }

  /** Forgets what is kept, whatever its age. `lastUpdated` may be given to play a clock that went back. */
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
