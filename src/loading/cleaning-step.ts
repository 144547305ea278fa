/** A step of a cleaning: one transaction over a bounded number of rows. */
import type { WriteTime } from '../database/sql-names.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { Protection } from './protect.ts';

export interface CleaningScope extends WriteTime {
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
}

export interface CleaningStep {
  /** Where the next one goes on; null: there is no more. */
  readonly last: readonly string[] | null;
  readonly seen: number;
  readonly changed: number;
}
