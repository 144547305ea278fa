/** A step of a cleaning: one transaction over a bounded number of rows. */
import type { StreamShape } from '../database/table-shape.ts';
import type { Protection } from './protect.ts';

export interface CleaningScope {
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
  /** See `TransactionTime`. */
  readonly now: string;
}

export interface CleaningStep {
  /** Where the next one goes on; null: there is no more. */
  readonly last: readonly string[] | null;
  readonly seen: number;
  readonly changed: number;
}
