import type { Employee } from '../records.ts';

export interface TrainingCalculation {
  /** ms; when it was made, for as long as it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

/** "Results are cached for 15 minutes": one frozen result, from which all pages are cut. */
export class TrainingCache {
  readonly #calculate: () => readonly Employee[];
  readonly #clock: () => number;
  readonly #cacheMs: number;
  #kept: TrainingCalculation | undefined;

  constructor(options: { calculate: () => readonly Employee[]; clock: () => number; cacheMs: number }) {
    this.#calculate = options.calculate;
    this.#clock = options.clock;
    this.#cacheMs = options.cacheMs;
  }

  current(): TrainingCalculation {
    const now = this.#clock();
    if (this.#kept === undefined || now - this.#kept.lastUpdated >= this.#cacheMs) return this.recalculate();
    return this.#kept;
  }

  /** Forgets the kept result, whatever its age. `lastUpdated` may be given to play a clock that went back. */
  recalculate(lastUpdated = this.#clock()): TrainingCalculation {
    this.#kept = { lastUpdated, employees: this.#calculate() };
    return this.#kept;
  }
}
