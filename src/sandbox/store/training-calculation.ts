import { MINUTE_MS } from '../../shared/time.ts';
import type { Employee } from '../records.ts';

interface TrainingCalculation {
  /** Time of the calculation, ms; kept while it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

const CACHE_MS = 15 * MINUTE_MS;

interface TrainingCacheOptions {
  calculate: () => readonly Employee[];
  clock: () => number;
}

/** "Results are cached for 15 minutes": a frozen result that is served in pages. */
export function createTrainingCache({ calculate, clock }: TrainingCacheOptions) {
  let kept: { readonly madeAt: number; readonly calculation: TrainingCalculation } | undefined;
  const keep = (lastUpdated: number): TrainingCalculation => {
    kept = { madeAt: clock(), calculation: { lastUpdated, employees: calculate() } };
    return kept.calculation;
  };
  return {
    /** The training list that is served now; a new one is calculated if it is missing or too old. */
    trainingCalculation(): TrainingCalculation {
      const now = clock();
      // A result from the future is discarded: the clock was set back.
      if (kept === undefined || now < kept.madeAt || now - kept.calculation.lastUpdated >= CACHE_MS)
        return keep(now);
      return kept.calculation;
    },
    /** Makes the service calculate the training list again. `lastUpdated` can simulate a clock that went back. */
    recalculateTraining(lastUpdated = clock()): TrainingCalculation {
      return keep(lastUpdated);
    },
  };
}
