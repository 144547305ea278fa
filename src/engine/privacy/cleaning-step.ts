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
  /** The key after which the next step continues; null: the cleaning is complete. */
  readonly last: readonly string[] | null;
  readonly seen: number;
  readonly changed: number;
}
