import type { Employee } from '../records.ts';

interface TrainingCalculation {
  /** Time of the calculation, ms; kept while it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

/** The cache key of all requests, when requests are not cached separately. */
const FOR_ALL = '';

interface TrainingCacheOptions {
  calculate: () => readonly Employee[];
  clock: () => number;
  cacheMs: number;
}

/** "Results are cached for 15 minutes": a frozen result that is served in pages. */
export function createTrainingCache({ calculate, clock, cacheMs }: TrainingCacheOptions) {
  const kept = new Map<string, { madeAt: number; calculation: TrainingCalculation }>();
  const keep = (request: string, lastUpdated: number): TrainingCalculation => {
    const calculation = { lastUpdated, employees: calculate() };
    kept.set(request, { madeAt: clock(), calculation });
    return calculation;
  };
  return {
    /**
     * The training list that is served now; a new one is calculated if it is missing or too old. `request` is the cache key
     * if each request is cached separately.
     */
    trainingCalculation(request = FOR_ALL): TrainingCalculation {
      const now = clock();
      for (const [key, { madeAt, calculation }] of kept) {
        // A result from the future is discarded: the clock was set back.
        if (now < madeAt || now - calculation.lastUpdated >= cacheMs) kept.delete(key);
      }
      return kept.get(request)?.calculation ?? keep(request, now);
    },
    /** Makes the service calculate the training list again. `lastUpdated` can simulate a clock that went back. */
    recalculateTraining(lastUpdated = clock()): TrainingCalculation {
      kept.clear();
      return keep(FOR_ALL, lastUpdated);
    },
  };
}
